"""How often gaplint is right, measured on real repositories: `python tools/accuracy COMMAND …`.

    draw FOLDER…      take a seeded sample of findings and of quiet training workloads, and write sheets to be judged
    read SHEETS FILE… put the judges' answers into verdicts.tsv
    numbers           precision with its interval, and findings per workload, from the committed tables
    census FOLDER…    count workloads and what was found of them, into census.tsv
    page              renew the numbers in docs/accuracy.md (`--check` only compares)
    recheck FOLDER…   which judged findings are gone, which right ones vanished, which wrong ones are still there

The repositories are never committed; verdicts.tsv and census.tsv hold facts about them and none of their text.
"""

// The list of incidents: narrows it down by words, facets, year and rule, as `gaplint incidents` does, and keeps the
// choice in the address. Values of one facet: any of them; different facets: all of them; a word stands for all that
// begin with it.
(() => {
  const library = document.getElementById("gl-library");
  if (!library) return;
  const form = library.querySelector("form");
  const entries = [...library.querySelectorAll(".gl-list > li")];
  const output = library.querySelector("output");
  const all = library.querySelector("button");
  const facets = [...new Set([...form.querySelectorAll("input[type=checkbox]")].map((box) => box.name))];

  const values = (entry, name) => entry.dataset[name].split(" ").filter(Boolean);
  const chosen = (name) =>
    [...form.querySelectorAll(`[name="${name}"]`)].filter((one) => one.type !== "checkbox" || one.checked)
      .map((one) => one.value).filter(Boolean);

  const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  function narrow() {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const starts = words.map((word) => new RegExp(`(^|[^\\p{L}\\p{N}])${literal(word)}`, "u"));
    const wanted = Object.fromEntries([...facets, "rules"].map((name) => [name, chosen(name)]));
    const fits = (entry, but) =>
      starts.every((start) => start.test(entry.dataset.text)) &&
      Object.entries(wanted).every(([name, some]) =>
        name === but || !some.length || some.some((value) => values(entry, name).includes(value)));
    let shown = 0;
    for (const entry of entries) {
      entry.hidden = !fits(entry);
      shown += !entry.hidden;
    }
    for (const name of facets) {  // how many would be left with each word, the facet's own choice aside
      const left = entries.filter((entry) => fits(entry, name));
      for (const box of form.querySelectorAll(`[name="${name}"]`)) {
        const count = left.filter((entry) => values(entry, name).includes(box.value)).length;
        box.closest("label").querySelector(".gl-number").textContent = count;
        box.closest("label").classList.toggle("gl-none", !count && !box.checked);
      }
    }
    const narrowed = words.length || Object.values(wanted).some((some) => some.length);
    output.textContent = narrowed ? `${shown} of ${entries.length} incidents` : `${shown} incidents`;
    all.hidden = !narrowed;
    const query = new URLSearchParams();
    if (form.q.value.trim()) query.set("q", form.q.value.trim());
    for (const [name, some] of Object.entries(wanted)) if (some.length) query.set(name, some.join(","));
    const text = query.toString().replaceAll("%2C", ",");
    history.replaceState(null, "", (text ? `?${text}` : location.pathname) + location.hash);
  }

  function fromAddress() {
    const query = new URLSearchParams(location.search);
    form.q.value = query.get("q") ?? "";
    for (const name of [...facets, "rules"]) {
      const some = (query.get(name) ?? "").split(",").filter(Boolean);
      for (const field of form.querySelectorAll(`[name="${name}"]`)) {
        if (field.type === "checkbox") field.checked = some.includes(field.value);
        else field.value = some[0] ?? "";
        if (field.checked) field.closest("details").open = true;
      }
    }
  }

  form.addEventListener("input", narrow);
  form.addEventListener("submit", (event) => event.preventDefault());
  all.addEventListener("click", () => {
    for (const box of form.querySelectorAll("input[type=checkbox]")) box.checked = false;
    form.q.value = form.rules.value = "";
    narrow();
    form.q.focus();
  });
  if (matchMedia("(max-width: 48rem)").matches) {  // a small screen shows incidents first
    for (const facet of form.querySelectorAll("details")) facet.open = false;
  }
  fromAddress();
  narrow();
})();

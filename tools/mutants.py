"""Mutation testing: `make mutants`, or

    tools/mutants.py [MODULE…] [--list] [--again OUTPUT]

changes one thing at a time in the modules of TARGETS (a comparison, a condition, a number, a returned value …) and runs
tests that execute the changed statement; a change that none of them notices survives. pytest collects once; each mutant
is a fork of that process, in which the functions of the module get the changed code, and takes about a second.
(mutmut leaves functions with decorators alone, which are every rule and every property; cosmic-ray starts a process a
mutant.) Survivors that no test can notice, because they change nothing, are listed with that reason in
tools/mutants-accepted.tsv.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from kube_gaplint import registry

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "tools/mutants-accepted.tsv"
LEAST_SCORE = 85.0
"""Per cent of the mutants of each module that tests have to notice."""
SECONDS = 60
"""Seconds of the processor that the tests of one mutant may take: a mutant that loops is noticed by that."""
MOST_TESTS = 150
"""Tests of the module itself that are run on a mutant, and others."""

TESTS = (
    "tests/model", "tests/kinds", "tests/launch", "tests/facts", "tests/text", "tests/test_engine.py",
    "tests/test_incidents.py", "tests/test_incident_replays.py", "tests/test_rule_fixes.py",
    "tests/test_declared_profile.py",
    "tests/rules", "tests/test_fixtures.py",
)  # fmt: skip
"""Tests that run in the process itself."""
TARGETS = (
    "kube_gaplint.model.setting",
    "kube_gaplint.model.units",
    "kube_gaplint.model.environment",
    "kube_gaplint.model.resources",
    "kube_gaplint.model.retry",
    "kube_gaplint.model.budget",
    "kube_gaplint.model.pace",
    "kube_gaplint.model.watchdog",
    "kube_gaplint.launch.amounts",
    "kube_gaplint.kinds.fields",
    "kube_gaplint.kinds.owners",
    "kube_gaplint.kinds.assembly",
    "kube_gaplint_rules.nccl.async_error_handling",
    "kube_gaplint_rules.nccl.process_group_timeout",
    "kube_gaplint_rules.ckpt.interval_long",
    "kube_gaplint_rules.ckpt.no_checkpoint",
    "kube_gaplint_rules.ckpt.no_resume",
    "kube_gaplint_rules.retry.no_restart_budget",
    "kube_gaplint_rules.retry.retry_budget_below_expected_failures",
    "kube_gaplint_rules.retry.unbounded_retries",
)
"""What decides effective values, and rules at the heart of the product."""


# Mutants


class Mutant(NamedTuple):
    """One change: its line, the line of its statement (0 outside functions), what it does, and the changed tree."""

    line: int
    statement: int
    what: str
    tree: ast.Module


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


def mutants(source: str) -> Iterator[Mutant]:
    """All changes of a module, in the order of its lines."""
    tree = ast.parse(source)
    skipped = set(_not_code(tree))
    statements = _statements(tree)
    nodes = [node for node in ast.walk(tree) if id(node) not in skipped and hasattr(node, "lineno")]
    found = []
    for node in nodes:
        for what, change in _changes(node):
            found.append((node.lineno, what, node, change))  # type: ignore[attr-defined]
    for line, what, node, change in sorted(found, key=lambda one: one[0]):
        before = copy.copy(node.__dict__)
        change(node)
        yield Mutant(line, statements[id(node)], what, copy.deepcopy(tree))
        node.__dict__.clear()
        node.__dict__.update(before)


def _statements(tree: ast.Module) -> dict[int, int]:
    """The line of the innermost statement of a function around each node; 0 where there is none."""
    found = {}

    def walk(node: ast.AST, line: int, *, inside: bool) -> None:
        if inside and isinstance(node, ast.stmt):
            line = node.lineno
        found[id(node)] = line
        for below in ast.iter_child_nodes(node):
            in_body = isinstance(node, ast.FunctionDef) and below in node.body
            walk(below, line, inside=inside or in_body)

    walk(tree, 0, inside=False)
    return found


def _not_code(tree: ast.Module) -> Iterator[int]:
    """Annotations, docstrings, imports and decorators: nothing in them decides anything; texts for people; and the
    fields of records, which cannot be exchanged in a class that is there already."""
    for node in ast.walk(tree):
        roots: list[ast.AST] = []
        if isinstance(node, ast.FunctionDef):
            roots += [*node.decorator_list, *([node.returns] if node.returns else [])]
            roots += [one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg) and one.annotation]
        elif isinstance(node, ast.AnnAssign):
            roots.append(node.annotation)
        elif isinstance(node, ast.ClassDef):
            roots += [*node.decorator_list, *node.bases, *node.keywords]
            roots += [one for one in node.body if not isinstance(one, ast.FunctionDef)]
        elif (
            isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            or (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
        ):
            roots.append(node)
        elif isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id.isupper() for one in node.targets
        ):
            roots += [node] if isinstance(node.value, ast.Call) else []  # tables of types, compiled patterns
        for root in roots:
            yield from (id(below) for below in ast.walk(root))


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    def setting(**values: object) -> Any:
        return lambda target: target.__dict__.update(values)

    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = _COMPARISONS[type(operator)]
            ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
            yield f"{type(operator).__name__} becomes {other.__name__}", setting(ops=ops)
    elif isinstance(node, ast.BoolOp):
        other_bool = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} becomes {other_bool.__name__}", setting(op=other_bool())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield (
            "not goes",
            setting(op=ast.Not(), operand=ast.UnaryOp(ast.Not(), node.operand, lineno=node.lineno, col_offset=0)),
        )
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        other_op = _ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} becomes {other_op.__name__}", setting(op=other_op())
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and isinstance(
        node.test, ast.Name | ast.Attribute | ast.Call
    ):
        yield "the condition is turned round", setting(test=_negated(node.test))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} becomes {not node.value}", setting(value=not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} becomes {node.value + 1}", setting(value=node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield (
            f"{node.value} becomes {node.value * 2 + (node.value == 0)}",
            setting(value=node.value * 2 + (node.value == 0)),
        )
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield "None is returned", setting(value=ast.Constant(None, lineno=node.lineno, col_offset=0))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom):
        yield "the statement goes", setting(value=ast.Constant(None, lineno=node.lineno, col_offset=0))


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test, lineno=test.lineno, col_offset=test.col_offset)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# Exchanging code


Key = tuple[str, int]


def _codes(code: CodeType) -> Iterator[tuple[Key, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _codes(constant)


def path_of(module: str) -> Path:
    folder = "rules" if module.startswith("kube_gaplint_rules") else "lint"
    return ROOT / folder / (module.replace(".", "/") + ".py")


class Subject:
    """A module that is loaded, and all functions that were made from its source."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = path_of(name)
        self.source = self.path.read_text(encoding="utf-8")
        self.lines = self.source.splitlines()
        self.module: ModuleType = importlib.import_module(name)
        self.functions: dict[Key, list[FunctionType]] = defaultdict(list)
        codes = {row.module: row.code for row in registry.rules()}
        self.own = (f"test_{name.rpartition('.')[2]}.py", f"[{codes.get(name, '-')}/")
        """Parts of the names of its own tests."""

    def find_functions(self) -> None:
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename == self.module.__file__:
                self.functions[one.__code__.co_qualname, one.__code__.co_firstlineno].append(one)

    def exchange(self, tree: ast.Module, *, outside: bool) -> None:
        """Give the functions the code of a changed tree; with `outside`, the values of the module and the defaults of
        parameters as well."""
        code = compile(ast.fix_missing_locations(tree), str(self.module.__file__), "exec")
        for key, found in _codes(code):
            for function in self.functions.get(key, ()):
                if function.__code__.co_freevars == found.co_freevars:
                    function.__code__ = found
        if not outside:
            return
        names: dict[str, Any] = {**self.module.__dict__}
        exec(code, names)
        for name, value in names.items():
            old = self.module.__dict__.get(name)
            if isinstance(value, FunctionType) and isinstance(old, FunctionType):
                old.__defaults__, old.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
            elif not callable(value) and not name.startswith("__"):
                for module in [one for key, one in sys.modules.items() if key.startswith("kube_gaplint")]:
                    if module.__dict__.get(name) is old:
                        module.__dict__[name] = value


class _Counting(ast.NodeTransformer):
    """Notes each statement of a function that is executed."""

    def __init__(self) -> None:
        self.inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self.inside = self.inside, True
        node.body = self._noted(node.body)
        self.inside = before
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self.generic_visit(node)

    def _noted(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out = []
        for one in body:
            call = ast.Call(ast.Name("__executed__", ast.Load()), [ast.Constant(one.lineno)], [])
            out += [ast.copy_location(ast.Expr(call), one), self._within(one)]
        return out

    def _within(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, ast.FunctionDef):
            self.visit_FunctionDef(node)
            return node
        for name in ("body", "orelse", "finalbody"):
            if getattr(node, name, None):
                setattr(node, name, self._noted(getattr(node, name)))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body = self._noted(part.body)
        return node


# Running


class Survivor(NamedTuple):
    module: str
    line: int
    what: str
    text: str


def accepted() -> dict[tuple[str, str, str], str]:
    """Why survivors are let be, by module, text of the line, and change."""
    if not ACCEPTED.exists():
        return {}
    rows = [line.split("\t") for line in ACCEPTED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {(module, text, what): reason for module, what, text, reason in rows}


def _forked(work: Callable[[], int]) -> int:
    """What a piece of work returns, done in a fork; -1 where it died."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            code = work()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


class Mutants:
    """A plugin of pytest that takes the place of its loop over the tests."""

    def __init__(self, modules: Sequence[str], again: frozenset[tuple[str, ...]]) -> None:
        self.modules = modules
        self.again = again
        """Path, line and change of the mutants to judge; empty for all."""
        self.failed = ""
        """The first test that failed."""
        self.ok = True

    def pytest_sessionstart(self) -> None:
        from hypothesis import HealthCheck, Phase, settings

        settings.register_profile(
            "mutants", deadline=None, database=None, derandomize=True, phases=(Phase.explicit, Phase.generate),
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        subjects = [Subject(name) for name in self.modules]
        for subject in subjects:
            subject.find_functions()
        gc.freeze()
        covered = self._covered(subjects)
        reasons = accepted()
        total = gone = let_be = 0
        for subject in subjects:
            started = time.monotonic()
            count, survivors = self._judge(subject, covered[subject.name])
            self.ok &= 100 * (count - len(survivors)) >= LEAST_SCORE * count
            new = [one for one in survivors if (one.module, one.text, one.what) not in reasons]
            total, gone, let_be = total + count, gone + count - len(survivors), let_be + len(survivors) - len(new)
            print(
                f"{subject.name}: {count} mutants, {count - len(survivors)} noticed, {len(new)} survive, "
                f"{len(survivors) - len(new)} accepted, score {100 * (count - len(survivors)) / max(1, count):.1f} % "
                f"({time.monotonic() - started:.0f} s)",
                flush=True,
            )
            for one in new:
                print(f"  {subject.path.relative_to(ROOT)}:{one.line}: {one.what}: {one.text}", flush=True)
        score = 100 * gone / max(1, total)
        print(
            f"all: {total} mutants, {gone} noticed, {total - gone - let_be} survive, {let_be} accepted, {score:.1f} %"
        )
        return True

    def _run(self, chosen: Iterable[int], after: Callable[[int], None] = lambda _index: None) -> bool:
        """Whether all these tests pass; the first that fails ends it."""
        indexes = list(chosen)
        for index, following in zip(indexes, [*indexes[1:], None], strict=True):
            item = self.items[index]
            following_item = None if following is None else self.items[following]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following_item)
            if self.failed:
                return False
            after(index)
        return True

    def _covered(self, subjects: Sequence[Subject]) -> dict[str, dict[int, list[int]]]:
        """By module and line: the tests, by their numbers, that execute the statement there."""
        notes = tempfile.NamedTemporaryFile()  # noqa: SIM115 - the fork writes it

        def work() -> int:
            found: dict[str, dict[int, list[int]]] = {subject.name: defaultdict(list) for subject in subjects}
            hits: dict[str, set[int]] = {subject.name: set() for subject in subjects}
            for subject in subjects:
                subject.module.__dict__["__executed__"] = hits[subject.name].add
                subject.exchange(_Counting().visit(ast.parse(subject.source)), outside=False)

            def keep(index: int) -> None:
                for name, lines in hits.items():
                    for line in lines:
                        found[name][line].append(index)
                    lines.clear()

            if not self._run(range(len(self.items)), keep):
                Path(notes.name).write_text(self.failed)
                return 1
            Path(notes.name).write_text(json.dumps(found))
            return 0

        if _forked(work) != 0:
            sys.exit(f"a test fails without any change: {Path(notes.name).read_text()}")
        found = json.loads(Path(notes.name).read_text())
        return {name: {int(line): tests for line, tests in lines.items()} for name, lines in found.items()}

    def _judge(self, subject: Subject, covered: dict[int, list[int]]) -> tuple[int, list[Survivor]]:
        survivors = []
        count = 0
        anything = sorted({index for tests in covered.values() for index in tests})
        for outside in (0, 1):  # where changing nothing is noticed, no score means anything
            unchanged = Mutant(1, 1 - outside, "nothing", ast.parse(subject.source))
            if self._is_noticed(subject, unchanged, self._chosen(subject, anything)):
                sys.exit(f"{subject.name}: a test fails without any change, in a fork")
        path = str(subject.path.relative_to(ROOT))
        for mutant in mutants(subject.source):
            if self.again and (path, str(mutant.line), mutant.what) not in self.again:
                continue
            count += 1
            tests = self._chosen(subject, covered.get(mutant.statement, []) if mutant.statement else anything)
            if not self._is_noticed(subject, mutant, tests):
                text = subject.lines[mutant.line - 1].strip()
                survivors.append(Survivor(subject.name, mutant.line, mutant.what, text))
        return count, survivors

    def _chosen(self, subject: Subject, tests: list[int]) -> list[int]:
        """Those of the module itself, then others, and fixtures, from all over."""
        parts: tuple[list[int], list[int], list[int]] = ([], [], [])
        for index in tests:
            name = self.items[index].nodeid
            parts[0 if any(own in name for own in subject.own) else 2 if "test_fixtures" in name else 1].append(index)
        own, others, fixtures = parts
        return [*own[:MOST_TESTS], *_spread(others, MOST_TESTS // 2), *_spread(fixtures, MOST_TESTS // 2)]

    def _is_noticed(self, subject: Subject, mutant: Mutant, tests: list[int]) -> bool:
        def work() -> int:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            subject.exchange(mutant.tree, outside=mutant.statement == 0)
            return 0 if self._run(tests) else 1

        return _forked(work) != 0


def _spread(numbers: list[int], most: int) -> list[int]:
    """At most so many of them, from all over."""
    if len(numbers) <= most:
        return numbers
    return [numbers[index * len(numbers) // most] for index in range(most)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("modules", nargs="*", help="ends of the names of modules (default: all)")
    parser.add_argument("--list", action="store_true", help="only count the mutants")
    parser.add_argument("--again", type=Path, help="what an earlier run said: judge those that survived it")
    options = parser.parse_args(arguments)
    survived = re.findall(r"^  (\S+):(\d+): (.+?): ", options.again.read_text(), re.M) if options.again else ()
    os.chdir(ROOT)
    chosen = [one for one in TARGETS if not options.modules or one.endswith(tuple(options.modules))]
    if options.list:
        for name in chosen:
            print(f"{name}: {sum(1 for _ in mutants(path_of(name).read_text(encoding='utf-8')))}")
        return 0
    import pytest

    folder = tempfile.mkdtemp()
    plugin = Mutants(chosen, frozenset(survived))
    plugins = ("cacheprovider", "xdist", "randomly")
    try:
        code = pytest.main(
            ["-s", "-q", "--basetemp", f"{folder}/tests", *(f"-pno:{name}" for name in plugins), *TESTS],
            plugins=[plugin],
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if code == 0 and plugin.ok else 1


if __name__ == "__main__":
    sys.exit(main())

"""The page of `kgraft serve`, in a real browser: a person describes something new, sees predictions, asks why, accepts and
withdraws; and names that are not words are shown as they are. What the page shows is compared with what the
interface answers."""

from __future__ import annotations

import functools
import hashlib
import json
import random
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any
from urllib.parse import quote

from http_server import Server
from kgraft import ROOT, Word, is_sanitized, run
from webdriver import DOWN, ENTER, ESCAPE, TAB, Browser, needs_webdriver

WEB = ROOT / "web"
SMALL = (
    "--propagation-layers 2 --propagation-width 16 --propagation-epochs 3 --dim 16 --epochs 3 --batch 50 "
    "--negatives 30 --seed 5 --quiet"
).split()

MARKUP = '<img src=x onerror="window.broken=1"><script>window.broken=2</script>'
QUOTES = """O'Brien "quoted" & `ticked` ${x} \\ %2F/?#"""
RIGHT_TO_LEFT = "שלום עולם \u202eabc"
LONG = "long " + "x" * 1995
HOSTILE = (MARKUP, QUOTES, RIGHT_TO_LEFT, LONG)
MARKED_RELATION = "<b onclick=x>likes</b>"


def make_graph() -> list[tuple[str, str, str]]:
    """Who works somewhere lives in its town, and knows others there. The hostile ones are people, too."""
    chance = random.Random(7)
    firms = {f"firm{i}": f"town{i % 12}" for i in range(30)}
    facts = [(firm, "located_in", town) for firm, town in firms.items()]
    people = {f"person{i}": chance.choice(list(firms)) for i in range(360)} | {name: "firm3" for name in HOSTILE}
    for person, firm in people.items():
        facts += [(person, "works_at", firm), (person, "lives_in", firms[firm])]
        others = [other for other in people if people[other] == firm and other != person]
        facts += [(person, "knows", other) for other in chance.sample(others, 2)]
    facts += [(name, MARKED_RELATION, "firm3") for name in HOSTILE] + [("firm3", "knows", name) for name in HOSTILE]
    return list(dict.fromkeys(facts))


class Vendored(unittest.TestCase):
    def test_hashes(self) -> None:
        """Vendored files are as published, and each has a hash"""
        lines = (WEB / "vendor/SHA256SUMS").read_text().splitlines()
        listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
        found = {path.name for path in (WEB / "vendor").iterdir()} - {"SHA256SUMS", "README.md"}
        self.assertEqual(set(listed), found)
        for name, digest in listed.items():
            self.assertEqual(hashlib.sha256((WEB / "vendor" / name).read_bytes()).hexdigest(), digest, name)

    def test_every_file_is_served(self) -> None:
        served = set(re.findall(r"'(.+)',", (WEB / "meson.build").read_text()))
        found = {path.relative_to(WEB).as_posix() for path in WEB.rglob("*") if path.suffix in (".js", ".css", ".html")}
        self.assertEqual(served, found)

    def test_nothing_that_runs_data(self) -> None:
        for path in WEB.glob("*.js"):
            self.assertIsNone(re.search(r"innerHTML|outerHTML|insertAdjacentHTML|dangerously|document\.write|\beval\b|new Function", path.read_text()), path)
        self.assertIsNone(re.search(r"<style|\son\w+=|\sstyle=|<script(?![^>]*src=)", (WEB / "index.html").read_text()))


@functools.cache
def made_store() -> Path:
    """A store over the graph, made once and removed at the end."""
    holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
    unittest.addModuleCleanup(holder.cleanup)
    folder = Path(holder.name)
    (folder / "graph.tsv").write_text("".join("\t".join(fact) + "\n" for fact in make_graph()))
    for command in (("train", "graph.tsv", "model", *SMALL), ("store", "model", "store", "--quiet")):
        result = run(*command, cwd=folder)
        assert result.status == 0, result
    return folder / "store"


@functools.cache
def opened_browser() -> Browser:
    browser = Browser()
    unittest.addModuleCleanup(browser.close)
    return browser


@needs_webdriver
@unittest.skipIf(is_sanitized(), "the page is the same, and test_serve.py and test_contract.py ask this server")
class Page(unittest.TestCase):
    """A browser in front of a server. Each test has a page of its own; the graph is that of its class."""

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.store = Path(shutil.copytree(made_store(), Path(holder.name) / "store"))
        cls.server = Server(cls.store, *cls.server_words())
        cls.url = f"http://127.0.0.1:{cls.server.port}"
        cls.addClassCleanup(cls.server.stop)
        cls.browser = opened_browser()

    @classmethod
    def server_words(cls) -> tuple[Word, ...]:
        return ()

    def setUp(self) -> None:
        """The page of the test before, and what it has to say when its server is gone, is not of this one."""
        self.browser.leave()
        self.browser.console()
        self.browser.resize(1280, 900)

    def tearDown(self) -> None:
        """Whatever a test did, nothing was run, refused by the policy, or complained about."""
        self.assertEqual([entry["message"] for entry in self.browser.console()], [])
        self.assertIsNone(self.browser.run("return window.broken ?? null"))

    def forgive(self, *statuses: int) -> None:
        """Browsers note answers with such a status on the console, whatever the page makes of it."""
        for entry in self.browser.console():
            self.assertEqual(entry["source"], "network", entry)
            self.assertRegex(entry["message"], rf"status of ({'|'.join(map(str, statuses))}) ")

    def remove_at_end(self, facts: list[list[str]]) -> None:
        """Facts that the test stores, withdrawn once its page is looked at no longer: a page asks about an entity that
        it just shows, and what is gone has no answer."""
        def remove() -> None:
            self.browser.leave()
            self.assertEqual(self.api("facts", remove=facts)["removed"], len(facts))

        self.addCleanup(remove)

    def open(self, view: str = "new", **query: Any) -> None:
        words = (f"{name}={quote(v if isinstance(v, str) else json.dumps(v), safe='')}" for name, v in query.items())
        self.browser.open(f"{self.url}/#/{view}?{'&'.join(words)}")
        self.browser.find("#subject h2")

    def api(self, path: str, **body: Any) -> Any:
        """What the interface itself says; to a question, if there is one."""
        return self.server.post(f"/v1/{path}", body) if body else self.server.get(f"/v1/{path}").json

    def expect(self, what: str, expected: Any, look: Any) -> None:
        """The page comes to show it."""
        last: list[Any] = []

        def is_there() -> bool:
            last[:] = [look()]
            return bool(last[0] == expected)

        try:
            self.browser.wait(what, is_there)
        except AssertionError:
            self.assertEqual(last[0], expected, what)

    def settle(self) -> None:
        """All that was asked is answered."""
        self.expect("everything", [], lambda: self.browser.all("[aria-busy=true]"))

    def shown(self) -> list[tuple[str, str, str]]:
        """Relation, side and entity of each prediction that the page has."""
        script = """return [...document.querySelectorAll("#predictions .prediction .link")].map((link) => [
            link.querySelector(".arrow .name").textContent, link.querySelector(".arrow").dataset.side,
            link.querySelector(".entity").textContent])"""
        return [tuple(link) for link in self.browser.run(script)]

    def expect_answers(self, **question: Any) -> list[tuple[str, str, str]]:
        """The page comes to show exactly what the interface answers."""
        answers = self.api("predict", **question)["answers"]
        links = [(answer["relation"], answer["side"], answer["entity"]) for answer in answers]
        self.expect("the predictions that the interface has", links, self.shown)
        return links

    def facts(self) -> list[tuple[str, str, str]]:
        """Relation, side and other end of each fact that the page has."""
        script = """return [...document.querySelectorAll("#subject .fact-group")].flatMap((group) =>
            [...group.querySelectorAll("li")].map((link) => [group.querySelector(".arrow .name").textContent,
                group.querySelector(".arrow").dataset.side, link.querySelector(".entity").textContent]))"""
        return [tuple(link) for link in self.browser.run(script)]

    def expect_fact(self, relation: str, other: str, side: str = "tail") -> None:
        self.expect("the fact", True, lambda: (relation, side, other) in self.facts())

    def expect_no_fact(self, relation: str, other: str, side: str = "tail") -> None:
        self.expect("the fact to go", False, lambda: (relation, side, other) in self.facts())


class Describing(Page):
    def complete(self, relation: str, entity: str) -> None:
        """Types the beginnings of both, and chooses what is offered first; the focus goes on by itself."""
        browser = self.browser
        browser.type(relation)
        browser.find("[role=option]", relation)
        browser.type(DOWN, ENTER)
        browser.type(entity)
        browser.wait(f"{entity} to be offered", lambda: browser.texts("[role=option] .name")[:1] == [entity])
        browser.type(DOWN, ENTER)

    def test_typing(self) -> None:
        """Facts are completed by keys alone, and predictions follow"""
        browser = self.browser
        self.open()
        browser.find(".empty", "while you type")
        browser.named("input", "Name").send_keys("newcomer", TAB)
        self.complete("works", "firm3")
        first = self.expect_answers(entity="newcomer", facts=[["newcomer", "works_at", "firm3"]])
        self.assertIn(("lives_in", "tail", "town3"), first)
        self.complete("knows", "person1")
        facts = [["newcomer", "works_at", "firm3"], ["newcomer", "knows", "person1"]]
        second = self.expect_answers(entity="newcomer", facts=facts)
        self.assertNotEqual(first, second)
        browser.named("button", "Direction: to the other entity. Turn around").click()
        turned = [["firm3", "works_at", "newcomer"], facts[1]]
        self.expect_answers(entity="newcomer", facts=turned)
        self.assertEqual(json.loads(browser.run("return new URLSearchParams(location.hash.split('?')[1]).get('facts')")), turned)

    def test_last_question_counts(self) -> None:
        """However fast questions follow each other, the page ends with the answer to the last one"""
        facts = [["n", "works_at", "firm3"]]
        self.open(entity="n", facts=facts)
        self.expect_answers(entity="n", facts=facts)
        for k in (5, 20, 50, 10, 20, 5):
            self.browser.click(f"#predictions option[value='{k}']")
        links = self.expect_answers(entity="n", facts=facts, k=5)
        self.assertEqual(len(links), 5)

    def test_misspelt(self) -> None:
        """What is not in the graph is not asked about; names like it are offered"""
        browser = self.browser
        self.open(entity="n")
        browser.named("input", "Relation").send_keys("works_at", ESCAPE, TAB, TAB)
        browser.type("frim3", ESCAPE, TAB)
        hint = browser.find(".hint", "Not in the graph")
        self.assertEqual(browser.named("input", "Entity").get_attribute("aria-invalid"), "true")
        offered = browser.texts(".suggestion .name")
        self.assertTrue(offered)
        hint.find_element("css selector", ".suggestion").click()
        self.expect_answers(entity="n", facts=[["n", "works_at", offered[0]]])

    def test_unknown_relation(self) -> None:
        self.open(entity="n")
        self.browser.named("input", "Relation").send_keys("work_at", ESCAPE, TAB)
        self.browser.find(".hint", "does not know this relation")
        self.browser.click(".suggestion", "works_at")
        self.assertEqual(self.browser.named("input", "Relation").get_attribute("value"), "works_at")

    def test_name_that_is_taken(self) -> None:
        self.open()
        self.browser.named("input", "Name").send_keys("firm3")
        self.browser.click("#name-hint a", "firm3")
        self.browser.find("#subject h2", "firm3")

    def test_name_that_is_taken_with_facts(self) -> None:
        """While the name is one of the graph, what is new is asked about all the same, but not stored"""
        self.open(entity="person9", facts=[["person9", "works_at", "firm3"]])
        self.browser.find("#subject .actions .quiet", "There is one of this name.")
        self.assertFalse(self.browser.find("button", "Store it").is_enabled())
        self.expect_answers(entity="another", facts=[["another", "works_at", "firm3"]])
        self.browser.click("#predictions .why-button")
        self.browser.find(".why .path .chain", "person9")

    def test_store_and_take_back(self) -> None:
        """Something new is stored with its facts, and is an entity as any other; undoing takes it back"""
        browser = self.browser
        facts = [["stored", "works_at", "firm5"], ["person7", "knows", "stored"]]
        self.open(entity="stored", facts=facts)
        browser.wait("it to be ready", lambda: browser.find("button", "Store it").is_enabled())
        browser.click("button", "Store it")
        browser.find("#subject h2", "stored")
        self.expect("its facts", [("knows", "head", "person7"), ("works_at", "tail", "firm5")], lambda: sorted(self.facts()))
        self.assertEqual(sorted(self.api("entities/stored")["links"]), sorted(facts))
        self.expect_answers(entity="stored")
        self.settle()
        browser.click(".toast button", "Undo")
        browser.find(".problem[role=alert]")
        self.assertEqual(self.api("entities?prefix=stored")["entities"], [])
        self.settle()
        self.forgive(404, 422)  # it is gone, and what the page asks about it at the same time has no answer

    def test_accepted_prediction(self) -> None:
        """A prediction about something new becomes one of its facts, and nothing is stored"""
        facts = [["n", "works_at", "firm3"]]
        self.open(entity="n", facts=facts)
        self.expect_answers(entity="n", facts=facts)
        before = self.api("model")["log"]
        self.browser.named("#predictions button", "Take as a fact: n lives_in town3").click()
        self.expect_answers(entity="n", facts=[*facts, ["n", "lives_in", "town3"]])
        self.assertEqual(self.api("model")["log"], before)


class Exploring(Page):
    def test_search(self) -> None:
        browser = self.browser
        self.open()
        browser.named("input", "Go to an entity").send_keys("firm1")
        browser.find("[role=option]", "firm1")
        browser.type(DOWN, ENTER)
        name = browser.find("#subject h2", "firm1").text
        links = self.api(f"entities/{name}")["links"]
        ends = (("tail", r, t) if h == name else ("head", r, h) for h, r, t in links)
        expected = sorted((relation, side, other) for side, relation, other in ends)
        self.expect("its facts", expected, lambda: sorted(self.facts()))
        self.expect_answers(entity=name)
        browser.driver.back()
        browser.find("#subject h2", "Something new")

    def test_accept_and_withdraw(self) -> None:
        """A prediction is accepted, seen in the stream of changes, and withdrawn again"""
        browser = self.browser
        self.open("entity", entity="person9", relation="knows", side="tail")
        answers = self.expect_answers(entity="person9", relation="knows", side="tail")
        fact = ["person9", "knows", answers[0][2]]
        before = self.api("model")["log"]
        browser.named("#predictions button", f"Accept: {' '.join(fact)}").click()
        self.expect_fact("knows", fact[2])
        self.assertIn(fact, self.api("entities/person9")["links"])
        browser.find(".change.added", fact[2])
        self.expect("its number", str(before + 1), lambda: browser.texts("#log")[0])
        self.assertNotIn(answers[0], self.expect_answers(entity="person9", relation="knows", side="tail"))
        browser.named("#subject button", f"Withdraw: {' '.join(fact)}").click()
        self.expect_no_fact("knows", fact[2])
        self.assertNotIn(fact, self.api("entities/person9")["links"])
        browser.find(".change.removed", fact[2])
        self.assertEqual(self.expect_answers(entity="person9", relation="knows", side="tail"), answers)

    def test_add(self) -> None:
        """A fact is typed, its other end being new"""
        browser = self.browser
        self.open("entity", entity="person11")
        browser.named("input", "Relation").send_keys("knows", ESCAPE, TAB, TAB)
        browser.type("stranger", ESCAPE)
        browser.find(".quiet", "comes with this fact")
        browser.click(".add button", "Add")
        self.expect_fact("knows", "stranger")
        browser.click(".toast button", "Undo")
        self.expect_no_fact("knows", "stranger")
        self.assertEqual(self.api("entities?prefix=stranger")["entities"], [])

    def test_changes_of_others(self) -> None:
        """What somebody else changes is seen at once"""
        self.open("entity", entity="person12")
        self.expect("its facts", True, lambda: len(self.facts()) > 0)
        self.browser.find(".pulse.on")
        self.api("facts", add=[["person12", "knows", "firm20"]], source="s" * 80, offset=1)
        self.expect_fact("knows", "firm20")
        self.assertGreater(self.browser.find(".change.added", "firm20").find_element("class name", "fact").size["width"], 100)
        body, key = {"remove": [["person12", "knows", "firm20"]]}, {"Idempotency-Key": "k17"}
        self.assertEqual(self.server.ask("POST", "/v1/facts", body, key).status, 200)
        self.expect_no_fact("knows", "firm20")
        self.assertNotIn("k17", self.browser.find(".change.removed", "firm20").text)

    def test_surroundings(self) -> None:
        """Known links are solid and predicted ones dashed, the wider the likelier; nodes lead on, and can be accepted"""
        browser = self.browser
        facts = [["n", "works_at", "firm3"]]
        self.open(entity="n", facts=facts)
        answers = self.api("predict", entity="n", facts=facts)["answers"]
        self.expect("a curve for each link", len(answers), lambda: len(browser.all(".fan .predicted")))
        self.assertEqual(browser.texts(".node.known .name"), ["firm3"])
        names = browser.texts(".side[data-side=tail] .node.predicted .entity") + browser.texts(".side[data-side=head] .node.predicted .entity")
        self.assertEqual(sorted(names), sorted(answer["entity"] for answer in answers))
        script = "return [...document.querySelectorAll('.fan path')].map((p) => [p.getAttribute('class'), getComputedStyle(p).strokeDasharray, +p.getAttribute('stroke-width')])"
        drawn = browser.run(script)
        self.assertTrue(all((dashes == "none") == (kind == "known") for kind, dashes, _ in drawn), drawn)
        widths = sorted(width for kind, _, width in drawn if kind == "predicted")
        for width, p in zip(widths, sorted(answer["probability"] for answer in answers)):
            self.assertAlmostEqual(width, 1 + 6 * p, places=2)
        browser.named("#surroundings button", "Take as a fact: n lives_in town3").click()
        self.expect("it to be known", {"firm3", "town3"}, lambda: set(browser.texts(".node.known .name")))
        browser.click("#surroundings .node.known a", "town3")
        browser.find("#subject h2", "town3")

    def test_missing(self) -> None:
        """What similar entities have is asked for, or filled in"""
        browser = self.browser
        facts = [["n", "works_at", "firm3"]]
        self.open(entity="n", facts=facts)
        missing = self.api("missing", entity="n", facts=facts, k=6)["missing"]
        self.assertTrue(missing)
        self.expect("what is missing", [one["relation"] for one in missing], lambda: browser.texts(".missing .arrow .name"))
        first = missing[0]
        browser.named("#missing button", f"Fill in {first['relation']}").click()
        self.expect("a row for it", [("works_at", "firm3"), (first["relation"], "")],
                    lambda: [tuple(values) for values in self.browser.run("""return [...document.querySelectorAll(".fact-row")].slice(0, 2)
                        .map((row) => [...row.querySelectorAll("input")].map((input) => input.value))""")])
        browser.click(".missing button.plain", first["relation"])
        self.expect_answers(entity="n", facts=facts, relation=first["relation"], side=first["side"])

    def test_unknown_entity(self) -> None:
        """A link to what is not there says so, and what may have been meant can be clicked"""
        self.open("entity", entity="persom12")
        similar = self.browser.find("#subject .problem .suggestion")
        name = similar.text
        similar.click()
        self.browser.find("#subject h2", name)
        self.expect("its facts", True, lambda: len(self.facts()) > 0)

    def test_counts(self) -> None:
        """Numbers of entities and facts follow changes that are not about what is shown"""
        self.open("entity", entity="person12")
        self.browser.find(".pulse.on")
        facts = [["person13", "knows", "elsewhere"]]
        for changes in ({"add": facts}, {"remove": facts}):
            self.api("facts", **changes)
            model = self.api("model")
            expected = [f"{model['entities']:,}", f"{model['facts']:,}"]
            self.expect("the counts", expected, lambda: self.browser.texts(".state .count dd"))

    def test_dots(self) -> None:
        """Names that no URL can end in are asked about and stored as others are"""
        facts = [["..", "works_at", "firm3"]]
        self.api("facts", add=facts)
        self.remove_at_end(facts)
        self.open("entity", entity="..")
        self.browser.find("#subject .quiet", "cannot be listed")
        self.expect_answers(entity="..")
        facts = [[".", "works_at", "firm3"]]
        self.remove_at_end(facts)
        self.open(entity=".", facts=facts)
        self.browser.wait("it to be ready", lambda: self.browser.find("button", "Store it").is_enabled())
        self.browser.click("button", "Store it")
        self.expect("its page", ["."], lambda: self.browser.texts("#subject h2"))
        self.expect_answers(entity=".")

    def test_many_tabs(self) -> None:
        """However many tabs are open, another one works: those that nobody looks at hold no connection"""
        driver = self.browser.driver
        first = driver.current_window_handle
        for _ in range(8):
            self.browser.open_tab()
            self.open("entity", entity="person9")
            self.expect("its facts", True, lambda: len(self.facts()) > 0)
            self.browser.find(".pulse.on")
        for handle in driver.window_handles:
            if handle != first:
                driver.switch_to.window(handle)
                driver.close()
        driver.switch_to.window(first)
        self.browser.is_blank = True

    def test_nonsense_in_the_address(self) -> None:
        for query in ({"facts": "[[1]]"}, {"facts": "{"}, {"k": "-3"}, {"side": "up"}, {"why": '["a"]'}):
            self.open(**query)
            self.browser.find("#subject h2", "Something new")

    def test_questions_that_must_fail(self) -> None:
        """They are not sent, since nothing stands on the console, and the page says what is wrong"""
        why = "#predictions .prediction.open .problem"
        for query, selector, text in (
            ({"entity": "person9", "k": 100000}, "#predictions .problem", "at most 1,000"),
            ({"entity": "person9", "relation": "likes"}, "#predictions .problem", "does not know likes"),
            ({"entity": "person9", "why": ["likes", "tail", "firm3"]}, why, "does not know likes"),
            ({"entity": "person9", "why": ["knows", "tail", "persom12"]}, why, "Did you mean"),
            ({"entity": "x" * 5000}, "#subject .problem", "no entity of this name"),
            ({"entity": "person"}, "#subject .problem", "no entity of this name"),
        ):
            self.open("entity", **query)
            self.browser.find(selector, text)
            self.settle()
        facts = [["n", "works_at", "firm3"], ["n", "knows", "persom12"], ["n", "likes", "firm3"], ["a", "knows", "b"]]
        self.open(entity="n", facts=facts)
        self.expect_answers(entity="n", facts=facts[:1])
        self.browser.find(".hint", "Not in the graph")
        self.settle()


class Reasons(Page):
    def test_sum(self) -> None:
        """The bars begin where the one before ended, and end at the score"""
        browser = self.browser
        facts = [["n", "works_at", "firm3"], ["n", "knows", "person1"], ["person2", "knows", "n"]]
        self.open(entity="n", facts=facts)
        self.expect_answers(entity="n", facts=facts)
        browser.named("button", "Why: n lives_in town3").click()
        browser.find(".sum tfoot")
        expected = self.api("explain", entity="n", facts=facts, relation="lives_in", side="tail", answer="town3")
        score = float(browser.find("[data-score]").get_attribute("data-score"))
        parts = [float(cell.get_attribute("data-part")) for cell in browser.all("[data-part]")]
        self.assertAlmostEqual(score, expected["score"], places=4)
        self.assertAlmostEqual(sum(parts), score, delta=0.01 * len(expected["terms"]))  # rests below 0.005 have no bar
        self.assertEqual(len(browser.all(".sum tbody th .entity")), 3)
        ranks = sorted(share["rank_without"] for share in expected["shares"])
        self.assertEqual(sorted(float(text) for text in browser.texts(".sum tbody tr:has(.entity) td:last-child")), ranks)
        bars = browser.run("""return [...document.querySelectorAll(".sum .bar")].map((bar) =>
            [...bar.querySelectorAll(".carry")].map((line) => line.getBoundingClientRect().left))""")
        for (_, end), (begin, _) in zip(bars[:-1], bars[1:]):
            self.assertAlmostEqual(end, begin, delta=0.5)
        last = browser.run("const bar = document.querySelector('tfoot rect').getBoundingClientRect(); return [bar.left, bar.right]")
        self.assertAlmostEqual(bars[0][0], last[0], delta=0.5)
        self.assertAlmostEqual(bars[-2][1], last[1], delta=1.5)

    def test_paths(self) -> None:
        """The paths are those of the explanation, from the entity to the answer, and can be followed"""
        browser = self.browser
        facts = [["n", "works_at", "firm3"], ["n", "knows", "person1"]]
        self.open(entity="n", facts=facts, why=["lives_in", "tail", "town3"])
        browser.find(".paths .path")
        terms = self.api("explain", entity="n", facts=facts, relation="lives_in", side="tail", answer="town3")["terms"]
        reasons = [reason for term in terms for reason in term["reasons"]]
        chains = browser.run("""return [...document.querySelectorAll(".path .chain")].map((chain) =>
            [...chain.querySelectorAll(".node")].map((node) => node.textContent))""")
        expected = []
        for reason in reasons:
            chain = ["n"]
            for step in reason["path"]:
                chain.append(step["tail"] if step["head"] == chain[-1] else step["head"])
            expected.append(chain)
        self.assertEqual(chains, expected)
        self.assertIn(["n", "firm3", "town3"], chains)
        browser.click(".path a", "firm3")
        browser.find("#subject h2", "firm3")

    def test_not_among_the_answers(self) -> None:
        """Any link can be asked about by its address"""
        self.open("entity", entity="person9", k=5, why=["located_in", "head", "firm9"])
        self.browser.find(".prediction.open .sum tfoot")
        self.browser.click(".prediction.open button", "Close")
        self.expect("it to close", [], lambda: self.browser.all(".sum"))


class Names(Page):
    def test_as_they_are(self) -> None:
        """Markup, quotes, right-to-left text and 2,000 characters are shown as they are, and run nothing"""
        browser = self.browser
        for name in HOSTILE:
            self.open("entity", entity=name)
            self.expect("its name", [name], lambda: browser.texts("#subject h2"))
            self.expect_fact(MARKED_RELATION, "firm3")
            self.expect("its title", f"{name} \u00b7 kgraft", lambda: browser.run("return document.title"))
            self.expect_answers(entity=name)
            self.assertEqual(browser.all("img, #page script, b"), [])
            self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 1280)

    def test_everywhere(self) -> None:
        """In completions, predictions, reasons, surroundings and changes"""
        browser = self.browser
        fact = [MARKUP, "located_in", LONG]
        self.open("entity", entity=MARKUP, why=["lives_in", "tail", "town3"])
        browser.find(".sum tfoot")
        self.api("facts", add=[fact])
        self.expect("the change", True, lambda: any(MARKUP in text and LONG in text for text in browser.texts(".change .fact")))
        browser.named("input", "Go to an entity").send_keys("<img")
        self.expect("its completion", [MARKUP], lambda: browser.texts(".search [role=option] .name"))
        browser.type(ESCAPE)
        self.expect_fact("located_in", LONG)
        self.assertIn(LONG, browser.texts(".side .node .name"))
        self.api("facts", remove=[fact])
        self.expect_no_fact("located_in", LONG)
        self.assertEqual(browser.all("img, #page script, b"), [])

    def test_new_one(self) -> None:
        """Something new may be called anything, too"""
        name = '"><svg onload=window.broken=3> \u05d0'
        facts = [[name, "works_at", "firm3"], [MARKUP, "knows", name]]
        self.remove_at_end(facts)
        self.open(entity=name, facts=facts)
        self.expect_answers(entity=name, facts=facts)
        self.browser.wait("it to be ready", lambda: self.browser.find("button", "Store it").is_enabled())
        self.browser.click("button", "Store it")
        self.expect("its page", [name], lambda: self.browser.texts("#subject h2"))
        self.expect("its facts", [("knows", "head", MARKUP), ("works_at", "tail", "firm3")], lambda: sorted(self.facts()))


class Everyone(Page):
    """Whoever reads the page, on whatever."""

    CONTROLS = {"button", "link", "textbox", "combobox", "checkbox", "option", "listbox", "table", "list", "region", "dialog"}

    def open_full_page(self) -> None:
        facts = [["n", "works_at", "firm3"], ["n", "knows", "person1"], ["n", "knows", MARKUP]]
        self.open(entity="n", facts=facts, why=["lives_in", "tail", "town3"])
        self.browser.find(".sum tfoot")
        self.browser.find(".missing li")
        self.browser.find(".pulse.on")
        self.settle()

    def test_controls_have_names(self) -> None:
        self.open_full_page()
        self.browser.named("input", "Go to an entity").send_keys("firm")
        self.browser.find("[role=option]", "firm")
        nodes = [node for node in self.browser.accessibility() if node["role"].get("value") in self.CONTROLS - {"list"}]
        self.assertGreater(len(nodes), 40)
        self.assertEqual([node["role"]["value"] for node in nodes if not node.get("name", {}).get("value", "").strip()], [])
        self.browser.type(ESCAPE)
        names = [node["name"]["value"] for node in nodes if node["role"]["value"] == "region"]
        self.assertEqual(names, ["Something new", "Predictions", "Surroundings", "Usually known", "Changes"])

    def test_unique_ids(self) -> None:
        self.open_full_page()
        ids = self.browser.run("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)))
        script = """return [...document.querySelectorAll("[aria-labelledby],[aria-controls],[aria-describedby]")].flatMap((e) =>
            ["aria-labelledby", "aria-controls", "aria-describedby"].map((a) => e.getAttribute(a))).filter((id) => id && !document.getElementById(id))"""
        self.assertEqual(self.browser.run(script), [])

    def test_keyboard(self) -> None:
        """Everything that can be clicked is reached by the tabulator, in the order of the page, with a visible focus"""
        self.open_full_page()
        script = """window.reached = [];
            document.addEventListener("focusin", ({ target }) => reached.push([target.dataset.place, getComputedStyle(target).outlineStyle, target.outerHTML]));
            const seen = [...document.querySelectorAll("a, button, input, select")].filter((e) => !e.disabled && e.checkVisibility());
            seen.forEach((e, i) => { e.dataset.place = i; });
            document.activeElement.blur();
            return seen.map((e) => e.role === "combobox")"""
        stops = self.browser.run(script)
        at = 0
        while at < len(stops):
            steps = (*stops[at:], True).index(True) + 1  # to the next list that opens, which is no stop on the way
            self.browser.press(TAB, min(steps, len(stops) - at))
            at += steps
            self.browser.wait("the focus", lambda: self.browser.run("return reached.length") >= min(at, len(stops)))
            if at <= len(stops):
                self.browser.find("[role=combobox][aria-expanded=true]")
        reached = self.browser.run("return reached")
        self.assertEqual([int(place) for place, _, _ in reached], list(range(len(stops))))
        self.assertEqual([what[:300] for _, outline, what in reached if outline == "none"], [])

    def test_narrow(self) -> None:
        """On a telephone nothing sticks out, and everything is there; as on a window of any size that it is given"""
        script = """return [innerWidth, document.documentElement.scrollWidth > innerWidth,
            [...document.querySelectorAll("button, input, select, .card, .bar")].filter((e) => e.checkVisibility() &&
                !e.closest("[role=listbox]") && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)).map((e) => e.outerHTML)]"""
        self.browser.resize(360, 800)
        self.open_full_page()
        for width in (360, 700, 1024, 1920, 360):
            for dark in (False, True):
                self.browser.resize(width, 800, dark)
                self.expect(f"{width} pixels", [width, False, []], lambda: self.browser.run(script))

    def test_contrast(self) -> None:
        """Text differs from what is behind it as WCAG AA wants, in light and dark"""
        self.open_full_page()
        for dark in (False, True):
            self.browser.resize(1280, 900, dark)
            self.assertEqual(self.browser.run(CONTRAST), [])

    def test_spoken(self) -> None:
        """New predictions and problems are announced"""
        self.open_full_page()
        self.expect("what is said", True, lambda: any("10 predictions" in text for text in self.browser.texts("[role=status]")))


class Guarded(Page):
    """A server that wants tokens."""

    TOKEN = "w" * 24

    @classmethod
    def server_words(cls) -> tuple[Word, ...]:
        file = cls.store.parent / "tokens"
        file.write_text(f"write {cls.TOKEN}\nread {'r' * 24}\n")
        file.chmod(0o600)
        return ("--token-file", file)

    def enter(self, token: str) -> None:
        self.browser.named("dialog input", "Token").send_keys(token, ENTER)

    def test_token(self) -> None:
        """The page asks for a token, asks again if it is wrong, and goes on with it, its stream of changes as well"""
        self.browser.open(f"{self.url}/#/entity?entity=person9")
        self.browser.run("sessionStorage.clear()")
        self.browser.open(f"{self.url}/#/entity?entity=person9")
        self.enter("wrong")
        self.enter(self.TOKEN)
        self.expect("its facts", True, lambda: len(self.facts()) > 0)
        self.browser.find(".pulse.on")
        self.browser.find("#predictions .prediction")
        self.assertEqual(self.browser.run("return Object.values(localStorage).length + document.cookie.length"), 0)
        self.forgive(401)

    def test_dialog_closed(self) -> None:
        """Without a token there is still the way to enter one"""
        self.browser.open(f"{self.url}/#/entity?entity=person9")
        self.browser.run("sessionStorage.clear()")
        self.browser.open(f"{self.url}/#/entity?entity=person9")
        self.browser.named("dialog input", "Token").send_keys(ESCAPE)
        self.browser.click("button", "Enter a token")
        self.enter(self.TOKEN)
        self.expect("its facts", True, lambda: len(self.facts()) > 0)
        self.assertEqual(self.browser.all("#page > .problem"), [])
        self.browser.run("sessionStorage.clear()")
        self.forgive(401)

    def test_token_for_reading(self) -> None:
        """What a token does not allow is refused in words"""
        self.browser.open(f"{self.url}/#/entity?entity=person9")
        self.browser.run(f"sessionStorage.setItem('kgraft-token', '{'r' * 24}')")
        self.browser.open(f"{self.url}/#/entity?entity=person9")
        self.browser.click("#predictions .prediction [title=Accept]")
        self.browser.find("#page > .problem[role=alert]")
        self.browser.run("sessionStorage.clear()")
        for entry in self.browser.console():
            self.assertEqual(entry["source"], "network", entry)
            self.assertRegex(entry["message"], "40[13]")


class NextGeneration(Page):
    def test_generation(self) -> None:
        """A generation that was trained meanwhile is seen without loading the page again"""
        self.open("entity", entity="person9")
        self.expect_answers(entity="person9")
        self.assertEqual(self.browser.texts("#generation"), ["1"])
        self.api("facts", add=[["person9", "knows", "newcomer"]])
        self.assertEqual(self.server.ask("POST", "/v1/compactions", {}).status, 202)
        self.expect("the generation", ["2"], lambda: self.browser.texts("#generation"))
        self.expect_answers(entity="person9")
        self.settle()


class ReadOnly(Page):
    @classmethod
    def server_words(cls) -> tuple[Word, ...]:
        return ("--read-only",)

    def test_nothing_to_change(self) -> None:
        """Where nothing can be changed, nothing is offered that would"""
        self.open("entity", entity="person9")
        self.browser.find("#predictions .prediction")
        names = [e.accessible_name for e in self.browser.all("main button")]
        self.assertEqual([name for name in names if re.match("Accept|Withdraw|Add|Fill", name)], [])
        self.open(entity="n", facts=[["n", "works_at", "firm3"]])
        self.browser.find(".quiet", "read-only")
        self.assertFalse(self.browser.find("button", "Store it").is_enabled())


CONTRAST = """
const parse = (text) => { const c = document.createElement("canvas").getContext("2d", { willReadFrequently: true }); c.fillStyle = text; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255, 255]; };
const bad = new Set();
for (const e of document.querySelectorAll("#page *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest(".unseen, :disabled, svg, option")) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.add(`${e.className || e.tagName} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
}
return [...bad];
"""

if __name__ == "__main__":
    unittest.main()

// Draws the graph of the incident library from graph.json, whose layout is ready. Pointing at a node, reaching it by the
// keyboard or typing its name marks what it is linked to; a node is a link to its page.
(() => {
  const box = document.getElementById("gl-graph");
  if (!box) return;
  const SVG = "http://www.w3.org/2000/svg";
  const told = box.querySelector(".gl-told");
  const pick = box.querySelector("#gl-pick");
  const root = box.dataset.root;
  const LEFT = new Set(["cause", "component"]);  // their labels stand left of the dot

  const make = (name, attributes, ...children) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  function draw({ width, height, columns, families, nodes }) {
    const svg = make("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
      "aria-label": "Causes, components, incidents, symptoms and rules, linked",
    });
    const lines = make("g", { class: "gl-lines" });
    const edges = [];
    nodes.forEach((node, from) => {
      if (node.kind !== "incident") return;
      for (const to of node.links) {
        const [a, b] = node.x < nodes[to].x ? [node, nodes[to]] : [nodes[to], node];
        const middle = (a.x + b.x) / 2;
        const curve = `M${a.x} ${a.y}C${middle} ${a.y} ${middle} ${b.y} ${b.x} ${b.y}`;
        const path = make("path", { d: curve, class: `gl-${nodes[to].kind}` });
        lines.append(path);
        edges.push({ from, to, path });
      }
    });
    svg.append(lines);
    for (const { kind, title, x } of columns) {
      const [at, anchor] = LEFT.has(kind) ? [x + 4, "end"] : [x - 4, "start"];
      svg.append(make("text", { x: at, y: 16, class: "gl-head", "text-anchor": anchor }, title));
    }
    for (const { label, x, y, href } of families) {
      const heading = make("text", { x: x - 4, y, class: "gl-family" }, label);
      svg.append(make("a", { href: root + href, tabindex: -1 }, heading));
    }
    nodes.forEach((node, number) => {
      const isRule = node.kind === "rule";
      const side = LEFT.has(node.kind) ? -8 : 8;
      const text = isRule
        ? make("text", { x: node.x + 6, y: node.y + 3.5 }, node.label.replace(/^[A-Z]+/, ""))
        : make("text", { x: node.x + side, y: node.y + 3.5, "text-anchor": side < 0 ? "end" : "start" }, node.label);
      const radius = isRule ? 2.5 : Math.min(3 + Math.sqrt(node.links.length), 8);
      node.element = make("a", {
        href: root + node.href, class: `gl-node gl-${node.kind}`, tabindex: number ? -1 : 0, "data-id": node.id,
        "aria-label": `${node.told} (${node.kind}, ${node.links.length} links)`,
      }, make("circle", { cx: node.x, cy: node.y, r: radius }), text);
      if (!node.links.length) node.element.classList.add("gl-alone");
      svg.append(node.element);
    });
    box.querySelector(".gl-canvas").append(svg);
    return { svg, edges, nodes };
  }

  function liven({ svg, edges, nodes }) {
    let pinned = -1;
    const number = (element) => nodes.findIndex((node) => node.element === element);

    function mark(chosen) {
      const at = chosen < 0 ? pinned : chosen;
      svg.classList.toggle("gl-marking", at >= 0);
      const near = new Set(at < 0 ? [] : nodes[at].links);
      const far = new Set();  // what is linked to a word's incidents
      if (at >= 0 && nodes[at].kind !== "incident") {
        for (const one of near) for (const other of nodes[one].links) far.add(other);
      }
      nodes.forEach((node, one) => {
        node.element.classList.toggle("gl-chosen", one === at);
        node.element.classList.toggle("gl-near", near.has(one));
        node.element.classList.toggle("gl-far", one !== at && !near.has(one) && far.has(one));
      });
      for (const { from, to, path } of edges) {
        path.classList.toggle("gl-near", from === at || to === at);
        path.classList.toggle("gl-far", from !== at && to !== at && near.has(from));
      }
      told.textContent = at < 0 ? "" : nodes[at].told + summary(nodes[at]);
    }

    function summary(node) {
      const kinds = {};
      for (const link of node.links) kinds[nodes[link].kind] = (kinds[nodes[link].kind] ?? 0) + 1;
      const parts = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}${count === 1 ? "" : "s"}`);
      return parts.length ? ` · ${parts.join(", ")}` : " · no incident yet";
    }

    // The keyboard: one node takes part in the tab order; arrows walk up and down a column and across to what is linked.
    const columns = [...new Set(nodes.map((node) => node.kind))]
      .map((kind) => nodes.filter((node) => node.kind === kind))
      .sort((one, other) => one[0].x - other[0].x)
      .map((column) => column.sort((one, other) => one.y - other.y || one.x - other.x));
    const step = {
      ArrowDown: (column, row) => [column, row + 1],
      ArrowUp: (column, row) => [column, row - 1],
      Home: (column) => [column, 0],
      End: (column) => [column, columns[column].length - 1],
    };
    function across(node, column, by) {
      const beside = columns[column + by];
      if (!beside) return null;
      const linked = beside.filter((other) => node.links.includes(nodes.indexOf(other)));
      const away = (other) => Math.abs(other.y - node.y);
      return (linked.length ? linked : beside).reduce((one, other) => (away(other) < away(one) ? other : one));
    }
    svg.addEventListener("keydown", (event) => {
      const node = nodes[number(event.target.closest(".gl-node"))];
      if (!node) return;
      if (event.key === "Escape") { pinned = -1; pick.value = ""; mark(-1); return; }
      const column = columns.findIndex((some) => some.includes(node));
      const row = columns[column].indexOf(node);
      let next = null;
      if (event.key === "ArrowLeft") next = across(node, column, -1);
      else if (event.key === "ArrowRight") next = across(node, column, 1);
      else if (step[event.key]) { const [c, r] = step[event.key](column, row); next = columns[c][r]; }
      else return;
      event.preventDefault();
      if (!next) return;
      for (const other of nodes) other.element.setAttribute("tabindex", other === next ? 0 : -1);
      next.element.focus();
    });
    for (const [on, off] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
      svg.addEventListener(on, (event) => mark(number(event.target.closest(".gl-node"))));
      svg.addEventListener(off, () => mark(-1));
    }

    const spoken = (node) => node.id.replace(":", " ");
    box.querySelector("datalist").append(...nodes.map((node) => new Option(spoken(node))));
    const find = (text) => {
      const wanted = text.trim().toLowerCase();
      if (!wanted) return -1;
      const exact = nodes.findIndex((node) => [node.label, spoken(node)].some((name) => name.toLowerCase() === wanted));
      return exact >= 0 ? exact : nodes.findIndex((node) => node.label.toLowerCase().startsWith(wanted));
    };
    pick.addEventListener("input", () => {
      pinned = find(pick.value);
      history.replaceState(null, "", pinned < 0 ? location.pathname : `#${nodes[pinned].id}`);
      mark(-1);
    });
    pick.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (pinned >= 0) nodes[pinned].element.focus();
    });
    const wanted = decodeURIComponent(location.hash.slice(1));
    pinned = nodes.findIndex((node) => node.id === wanted);
    if (pinned >= 0) pick.value = spoken(nodes[pinned]);
    mark(-1);
  }

  fetch(box.dataset.graph)
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))))
    .then((data) => liven(draw(data)))
    .catch((problem) => {
      told.textContent = `The graph could not be loaded (${problem.message}). The list of incidents holds the same links.`;
    });
})();

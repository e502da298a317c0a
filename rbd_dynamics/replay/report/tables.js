// SPDX-License-Identifier: Apache-2.0
/* Tables that are sorted by the column whose head is clicked. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending";
    const value = row => {
      const cell = row.cells[column], meter = cell.querySelector("meter");
      const text = cell.textContent.replaceAll("−", "-");
      const found = meter ? meter.value : parseFloat(text);
      return Number.isNaN(found) ? text : found;
    };
    const rows = [...body.rows].sort((a, b) => {
      const x = value(a), y = value(b);
      return (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) * (up ? 1 : -1);
    });
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows);
  }));
}

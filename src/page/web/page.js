/* page.js - sorts, filters and downloads tables, which are complete without this script
 *
 * The page that plans puts reports into its own document and calls plaitPage for them.
 */
"use strict";

globalThis.plaitPage = (function () {
    function make(tag, properties, ...inside) {
        const made = Object.assign(document.createElement(tag), properties);
        made.append(...inside);
        return made;
    }

    // ---- CSV: the numbers of the cells, in base units

    function quoted(value) {
        const text = value === null ? "" : String(value);
        return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    }

    function csvOf(table) {
        const lines = [table.columns.map((column) => column.key), ...table.rows];
        return lines.map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
    }

    function download(name, table) {
        const url = URL.createObjectURL(new Blob([csvOf(table)], {type: "text/csv"}));
        make("a", {href: url, download: name + ".csv"}).click();
        setTimeout(() => URL.revokeObjectURL(url), 60000); // long enough for a busy browser
    }

    // ---- order

    function compared(a, b) {
        if (a === null || b === null)
            return (a === null) - (b === null); // unknown values come last
        return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    }

    // Each table row stores the index of its row in the data, which sorting does not change.
    function sortBy(element, table, column) {
        const heads = element.tHead.rows[0].cells;
        const body = element.tBodies[0];
        const down = heads[column].getAttribute("aria-sort") === "ascending";
        const value = (row) => table.rows[row.dataset.row][column];
        const rows = [...body.rows].sort((a, b) =>
            value(a) === null || value(b) === null || !down ? compared(value(a), value(b))
                                                            : compared(value(b), value(a)));

        for (const head of heads)
            head.removeAttribute("aria-sort");
        heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...rows);
    }

    function makeSortable(element, table) {
        [...element.tHead.rows[0].cells].forEach((head, column) => {
            const button = make("button", {type: "button"}, ...head.childNodes);
            button.addEventListener("click", () => sortBy(element, table, column));
            head.append(button);
        });
        [...element.tBodies[0].rows].forEach((row, index) => (row.dataset.row = index));
    }

    // ---- filter: shows the rows that contain all words

    function filter(element, words, said) {
        let shown = 0;
        for (const row of element.tBodies[0].rows) {
            const text = row.textContent.toLowerCase();
            row.hidden = !words.every((word) => text.includes(word));
            shown += row.hidden ? 0 : 1;
        }
        said.textContent = words.length > 0 ? shown + " of " + element.tBodies[0].rows.length + " rows" : "";
    }

    const FILTERED_FROM = 6; // smallest number of rows for which a filter is shown

    function addTools(element, table, id) {
        const tools = make("div", {className: "tools"});
        const save = make("button", {type: "button"}, "Download CSV");

        if (table.rows.length >= FILTERED_FROM) {
            const said = make("span", {});
            const input = make("input", {type: "search"});
            said.setAttribute("role", "status");
            input.addEventListener("input", () =>
                filter(element, input.value.toLowerCase().split(/\s+/).filter(Boolean), said));
            tools.append(make("label", {}, "Filter ", input), said);
        }
        save.setAttribute("aria-label", "Download CSV: " + table.caption);
        save.addEventListener("click", () => download(id, table));
        tools.append(save);
        element.closest(".scroll").before(tools);
    }

    /* Adds buttons and filters to the tables of a report, which are in the document. */
    function addControls(tables) {
        for (const [id, table] of Object.entries(tables)) {
            const element = document.getElementById(id);
            makeSortable(element, table);
            addTools(element, table, id);
        }
    }

    const data = document.getElementById("data");
    if (data)
        addControls(JSON.parse(data.textContent).tables);
    return {addControls};
})();

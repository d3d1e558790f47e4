// The pages are complete without this script. It adds keys, a slider through the versions of a
// world, the place in the graph of the part that is read, and filters in exported files.

// ViewKeys follows the link with the pressed key: n next, p previous, f next failed.
class ViewKeys extends HTMLElement {
  connectedCallback(): void {
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea")) return;
      document.querySelector<HTMLAnchorElement>(`a[data-key="${CSS.escape(event.key)}"]`)?.click();
    });
  }
}

// ViewGraph marks the nodes of the graph whose cards are on the screen.
class ViewGraph extends HTMLElement {
  connectedCallback(): void {
    const links = new Map<string, Element[]>();
    for (const link of this.querySelectorAll("a[href^='#']")) {
      const id = link.getAttribute("href")!.slice(1);
      links.set(id, [...(links.get(id) ?? []), link]);
    }
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const id = (entry.target as HTMLElement).dataset.node!;
        links.get(id)?.forEach((link) => link.classList.toggle("here", entry.isIntersecting));
      }
    }, { rootMargin: "-15% 0px -35% 0px" });
    document.querySelectorAll("[data-node]").forEach((card) => observer.observe(card));
  }
}

// ViewSlider replaces the tables by those of another message, without loading the page again.
class ViewSlider extends HTMLElement {
  private asked?: AbortController;

  connectedCallback(): void {
    const input = this.querySelector("input")!;
    this.hidden = false;
    input.addEventListener("input", () => void this.show(Number(input.value)));
  }

  private async show(message: number): Promise<void> {
    this.asked?.abort();
    this.asked = new AbortController();
    const address = `world-${message}.html`;
    try {
      const answer = await fetch(address, { signal: this.asked.signal });
      if (!answer.ok) return;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["world", "steps"]) {
        document.getElementById(id)!.replaceWith(document.adoptNode(next.getElementById(id)!));
      }
      document.title = next.title;
      history.replaceState(null, "", address);
    } catch (error) {
      if ((error as Error).name !== "AbortError") throw error;
    }
  }
}

// ViewFilter does in an exported file what the server does with the state in the address.
class ViewFilter extends HTMLElement {
  connectedCallback(): void {
    const wanted = new URLSearchParams(location.search);
    const form = this.querySelector("form")!;
    for (const [name, value] of wanted) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = value;
    }
    const body = document.querySelector<HTMLTableSectionElement>("#rollouts tbody")!;
    const rows = [...body.rows];
    let shown = 0;
    for (const row of rows) {
      row.hidden = !this.fits(row, wanted);
      if (!row.hidden) shown++;
    }
    const sort = wanted.get("sort") ?? "";
    if (sort) body.append(...rows.sort(this.order(sort)));
    document.getElementById("count")!.textContent = `${shown} of ${rows.length} rollouts`;
  }

  // The columns are rollout, run, variant, score, turns, calls, seconds and causes.
  private fits(row: HTMLTableRowElement, wanted: URLSearchParams): boolean {
    const cell = (column: number): string => row.cells[column].textContent!;
    const words = (name: string): string => (wanted.get(name) ?? "").replaceAll("_", " ");
    const chips = [...row.cells[7].children].map((chip) => chip.textContent!);
    const score = Number(cell(3));
    const state = isNaN(score) ? "unscored" : score >= 1 ? "passed" : score === 0 ? "zero" : "partial";
    const category = wanted.get("category");
    const option = this.querySelector<HTMLSelectElement>("[name=category]")!.selectedIndex - 1;
    return (!wanted.get("run") || cell(1) === wanted.get("run"))
      && (!wanted.get("variant") || cell(2) === words("variant"))
      && (!category || (row.dataset.c ?? "").split(" ").includes(String(option)))
      && (!wanted.get("cause") || chips.includes(words("cause")))
      && (!wanted.get("state") || state === wanted.get("state") || (wanted.get("state") === "failed" && state !== "passed"))
      && (!wanted.get("user") || row.dataset.u !== undefined)
      && row.textContent!.toLowerCase().includes((wanted.get("q") ?? "").toLowerCase());
  }

  private order(sort: string): (a: HTMLTableRowElement, b: HTMLTableRowElement) => number {
    const column = ["score", "turns", "calls", "seconds"].indexOf(sort.replace(/^-/, "")) + 3;
    const sign = sort.startsWith("-") ? -1 : 1;
    const value = (row: HTMLTableRowElement): number => Number(row.cells[column].textContent!);
    return (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (isNaN(x) || isNaN(y)) return Number(isNaN(x)) - Number(isNaN(y));
      return sign * (x - y);
    };
  }
}

customElements.define("view-keys", ViewKeys);
customElements.define("view-graph", ViewGraph);
customElements.define("view-slider", ViewSlider);
customElements.define("view-filter", ViewFilter);

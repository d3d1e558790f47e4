// The pages are complete without this script. It adds keys, a slider through the versions of a
// world, the place in the graph of the part that is read, and filters in exported files.

// A chunk has pages of an exported directory: see chunk.go. A page is runs of lines.
interface Chunk {
  lines: string[];
  pages: Record<string, number[]>;
}
let chunk: Chunk | undefined;

// chunkPage returns a page of the chunk by the end of its address, such as ?world-13.
function chunkPage(search: string): Document | undefined {
  const name = document.body.dataset.page!;
  const parts = chunk!.pages[name + search] ?? chunk!.pages[name];
  const lines: string[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    for (let at = parts[i]; at < parts[i] + parts[i + 1]; at++) lines.push(chunk!.lines[at]);
  }
  return new DOMParser().parseFromString(lines.join("\n"), "text/html");
}

// viewChunk unpacks the chunk of this page and shows the page. The chunk's file calls it.
async function viewChunk(encoded: string): Promise<void> {
  const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  chunk = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json() as Chunk;
  const page = chunkPage(location.search)!;
  document.title = page.title;
  document.body.replaceChildren(...page.body.childNodes);
  if (location.hash) location.replace(location.hash); // the element is here only now
}
Object.assign(globalThis, { viewChunk });

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
    const stops = this.dataset.stops?.trim().split(" ").map(Number);
    if (stops) {
      input.addEventListener("input", () => this.showAt(`?world-${stops.findLast((stop) => stop <= Number(input.value))}`));
      return;
    }
    input.addEventListener("input", () => void this.show(Number(input.value)));
  }

  // showAt shows a page of the chunk.
  private showAt(address: string): void {
    this.put(chunkPage(address)!, address);
  }

  private put(next: Document, address: string): void {
    for (const id of ["world", "steps"]) {
      document.getElementById(id)!.replaceWith(document.adoptNode(next.getElementById(id)!));
    }
    document.title = next.title;
    history.replaceState(null, "", address);
  }

  private async show(message: number): Promise<void> {
    this.asked?.abort();
    this.asked = new AbortController();
    const address = `world-${message}.html`;
    try {
      const answer = await fetch(address, { signal: this.asked.signal });
      if (!answer.ok) return;
      this.put(new DOMParser().parseFromString(await answer.text(), "text/html"), address);
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

// ViewLive renews the parts of the page that change, as long as it is on the screen: a browser has
// few connections to one server.
class ViewLive extends HTMLElement {
  private events?: EventSource;
  private busy = false;
  private again = false;

  connectedCallback(): void {
    document.addEventListener("visibilitychange", () => this.listen());
    this.listen();
  }

  disconnectedCallback(): void {
    this.events?.close();
  }

  private listen(): void {
    this.events?.close();
    if (document.hidden || !this.isConnected) return;
    this.events = new EventSource(this.dataset.events!);
    this.events.addEventListener("message", (event) => {
      if (event.data !== this.dataset.version) void this.renew(event.data);
    });
  }

  private async renew(version: string): Promise<void> {
    this.again = this.busy;
    if (this.busy) return;
    this.busy = true;
    try {
      if (document.querySelector("[data-live=all]")) return location.reload();
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      this.dataset.version = version;
      for (const part of document.querySelectorAll("[data-live]")) {
        const renewed = next.getElementById(part.id);
        if (renewed && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(renewed));
      }
      if (!next.querySelector("view-live")) this.remove(); // it was the last one
    } catch {
      // The program has ended, or is about to: the page stays.
    } finally {
      this.busy = false;
      if (this.again) void this.renew(version);
    }
  }
}

customElements.define("view-live", ViewLive);
customElements.define("view-keys", ViewKeys);
customElements.define("view-graph", ViewGraph);
customElements.define("view-slider", ViewSlider);
customElements.define("view-filter", ViewFilter);

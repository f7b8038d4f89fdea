// The import graph of the project, from syntax trees: edges, importers and cycles.

import type { ImportEdge } from "./sources.ts";
import type { ModuleSyntax } from "./syntax.ts";

/** Edges between modules of the project, each pair once. Types alone: every import of the pair is erased. */
export function importEdges(modules: ReadonlyMap<string, ModuleSyntax>): ImportEdge[] {
  return [...modules].flatMap(([from, { imports }]) => {
    const targets = new Map<string, boolean>();
    for (const { specifier, types } of imports) {
      if (!specifier.startsWith(".")) continue;
      const target = resolveImport(from, specifier);
      targets.set(target, types && (targets.get(target) ?? true));
    }
    return [...targets].map(([target, types]) => ({ from, target, types }));
  });
}

/** The path that a relative specifier names. */
export function resolveImport(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** The modules that import each module. */
export function importersOf(edges: readonly ImportEdge[]): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const { from, target } of edges) importers.set(target, [...importers.get(target) ?? [], from]);
  return importers;
}

/** Groups of modules that reach each other, each group sorted: the strongly connected components (Tarjan, 1972). */
export function importCycles(edges: readonly ImportEdge[]): string[][] {
  const search = new CycleSearch(edges);
  for (const { from } of edges) search.visit(from);
  return search.cycles.sort((a, b) => String(a) < String(b) ? -1 : 1);
}

class CycleSearch {
  readonly cycles: string[][] = [];
  readonly #targets = new Map<string, string[]>();
  readonly #order = new Map<string, number>();
  readonly #stack: string[] = [];
  readonly #onStack = new Set<string>();

  constructor(edges: readonly ImportEdge[]) {
    for (const { from, target } of edges) {
      this.#targets.set(from, [...this.#targets.get(from) ?? [], target]);
    }
  }

  /** The lowest position on the stack that the module reaches. */
  visit(module: string): number {
    const known = this.#order.get(module);
    if (known !== undefined) return known;
    const own = this.#order.size;
    this.#order.set(module, own);
    this.#stack.push(module);
    this.#onStack.add(module);
    let lowest = own;
    for (const target of this.#targets.get(module) ?? []) {
      const isNew = !this.#order.has(target);
      const reached = this.visit(target);
      if (isNew || this.#onStack.has(target)) lowest = Math.min(lowest, reached);
    }
    if (lowest === own) this.#close(module);
    return lowest;
  }

  #close(module: string): void {
    const members = this.#stack.splice(this.#stack.indexOf(module));
    for (const member of members) this.#onStack.delete(member);
    if (members.length > 1) this.cycles.push(members.sort());
  }
}

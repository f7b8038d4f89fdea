// The two interfaces side by side: the time of each load at each size, and the ratio.

import { formatNumber } from "../report.ts";
import { type FigureName, FIGURES, type Sample } from "./figures.ts";
import { laidOut, sizesOf, valueOf } from "./report.ts";

/** Loads with the same effect: the beginnings of their figures. Where /scim/v2 has PATCH, /idm/scim has PUT. */
const LOADS = [
  { what: "page of 100", specified: "page", v2: "page" },
  { what: "userName eq", specified: "equal", v2: "equal" },
  { what: "GET one", specified: "get", v2: "get" },
  { what: "create", specified: "create", v2: "create" },
  { what: "PUT user", specified: "replace", v2: "replace" },
  { what: "change a user: PUT, PATCH", specified: "replace", v2: "patchUser" },
  { what: "change a member of 10,000: PUT, PATCH", specified: "memberPut", v2: "memberPatch" },
] as const;

const COMPARED: readonly {
  readonly what: string;
  readonly specified: FigureName;
  readonly v2: FigureName;
}[] = [
  ...LOADS.map(({ what, specified, v2 }) =>
    ({ what: `${what}: p50`, specified: `${specified}P50`, v2: `${v2}P50` }) as const
  ),
  ...LOADS.map(({ what, specified, v2 }) =>
    ({ what: `${what}: CPU`, specified: `${specified}Cpu`, v2: `${v2}Cpu` }) as const
  ),
];

export interface ComparisonRow {
  readonly what: string;
  readonly users: number;
  readonly specifiedMs: number;
  readonly v2Ms: number;
  /** Below 1: /scim/v2 is faster. */
  readonly ratio: number;
}

/** Only loads and sizes that were measured at both interfaces. */
export function compareInterfaces(samples: readonly Sample[]): ComparisonRow[] {
  return COMPARED.flatMap(({ what, specified, v2 }) =>
    sizesOf(samples, { server: "v2", figure: v2 }).flatMap((users): ComparisonRow[] => {
      const specifiedMs = valueOf(samples, { server: "countersign", users, figure: specified });
      const v2Ms = valueOf(samples, { server: "v2", users, figure: v2 });
      if (specifiedMs === null || v2Ms === null) return [];
      return [{ what, users, specifiedMs, v2Ms, ratio: v2Ms / specifiedMs }];
    })
  );
}

/** The table; empty without a measurement of both. */
export function comparisonLines(samples: readonly Sample[]): string[] {
  const rows = compareInterfaces(samples);
  if (rows.length === 0) return [];
  const { decimals } = FIGURES.getCpu;
  return laidOut([
    ["ms", "users", "/idm/scim", "/scim/v2", "ratio"],
    ...rows.map(({ what, users, specifiedMs, v2Ms, ratio }) => [
      what,
      formatNumber(users, 0),
      formatNumber(specifiedMs, decimals),
      formatNumber(v2Ms, decimals),
      formatNumber(ratio, 2),
    ]),
  ], { left: 1 });
}

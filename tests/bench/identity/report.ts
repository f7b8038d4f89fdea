// The report of the identity benchmark, as text and as a page, and its comparison with other servers.

import { formatNumber, median } from "../report.ts";
import {
  type BarRow,
  BARS,
  type FigureName,
  type FigureRow,
  FIGURES,
  FLAT_MOST,
  OUR_SERVERS,
  type OurServer,
  type Sample,
} from "./figures.ts";
import type { ServerName } from "./servers.ts";

// The two interfaces side by side: the time of each load at each size, and the ratio.

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

// The SCIM figures as plain-text tables: all figures by server and size, then the limits.

const SERVERS = {
  countersign: "/idm/scim",
  v2: "/scim/v2",
  floor: "floor",
  scimmy: "SCIMMY",
} as const satisfies Record<ServerName, string>;

const NAMES = Object.keys(FIGURES) as FigureName[];

/** A limit, and Countersign's result. Ratios above 1: better than the other server. */
export interface Verdict {
  readonly title: string;
  readonly at: string;
  readonly value: number;
  readonly unit: FigureRow["unit"] | "";
  readonly decimals: number;
  readonly ofFloor: number | null;
  readonly ofScimmy: number | null;
  readonly bar: string;
  readonly met: boolean;
}

/** The median over the rounds, or `null` without a measurement. */
export function valueOf(
  samples: readonly Sample[],
  { server, users, figure }: { server: ServerName; users: number; figure: FigureName },
): number | null {
  const values = samples.filter((one) =>
    one.server === server && one.users === users && one.figure === figure
  );
  return values.length === 0 ? null : median(values.map(({ value }) => value));
}

/** Sizes at which a figure was measured, the smallest first. */
export function sizesOf(
  samples: readonly Sample[],
  { server, figure }: { server: ServerName; figure?: FigureName },
): number[] {
  const sizes = samples.filter((one) =>
    one.server === server && (figure === undefined || one.figure === figure)
  );
  return [...new Set(sizes.map(({ users }) => users))].sort((a, b) => a - b);
}

/** The size with the smallest ratio to the requested one. */
function nearest(sizes: readonly number[], users: number): number | null {
  const distance = (size: number) => Math.abs(Math.log(size / users));
  return sizes.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
}

/** Compares with another server at the size nearest to ours; `null` without a measurement there. */
function ratioTo(
  samples: readonly Sample[],
  server: ServerName,
  { users, figure, value }: { users: number; figure: FigureName; value: number },
): number | null {
  const size = nearest(sizesOf(samples, { server, figure }), users);
  const theirs = size === null ? null : valueOf(samples, { server, users: size, figure });
  if (theirs === null) return null;
  return FIGURES[figure].unit === "/s" ? value / theirs : theirs / value;
}

/** One verdict for each limit with a measured figure, then for each figure that must stay flat. */
export function judge(samples: readonly Sample[]): Verdict[] {
  return [...BARS.flatMap((row) => judgeBar(samples, row)), ...judgeFlatness(samples)];
}

function judgeBar(
  samples: readonly Sample[],
  { server = "countersign", figure, at, bar }: BarRow,
): Verdict[] {
  const sizes = sizesOf(samples, { server, figure });
  const users = at === undefined ? sizes.at(-1) ?? null : nearest(sizes, at);
  const value = users === null ? null : valueOf(samples, { server, users, figure });
  if (users === null || value === null) return [];
  const row: FigureRow = FIGURES[figure];
  const place = { users, figure, value };
  return [{
    title: titleOf(server, figure),
    at: users.toLocaleString("en-US"),
    value,
    unit: row.unit,
    decimals: row.decimals,
    ofFloor: ratioTo(samples, "floor", place),
    ofScimmy: ratioTo(samples, "scimmy", place),
    bar: "most" in bar
      ? `≤ ${formatNumber(bar.most, 0)} ${row.unit}`
      : `≥ ${formatNumber(bar.least, 0)} ${row.unit}`,
    met: "most" in bar ? value <= bar.most : value >= bar.least,
  }];
}

function judgeFlatness(samples: readonly Sample[]): Verdict[] {
  return OUR_SERVERS.flatMap((server) => NAMES.map((figure) => ({ server, figure }))).flatMap((place) => {
    const growth = growthOf(samples, place);
    if (growth === null) return [];
    return [{
      title: `flat: ${titleOf(place.server, place.figure)}`,
      at: `${formatNumber(growth.from, 0)} → ${formatNumber(growth.to, 0)}`,
      value: growth.ratio,
      unit: "",
      decimals: 2,
      ofFloor: null,
      ofScimmy: null,
      bar: `≤ ${FLAT_MOST}`,
      met: growth.ratio <= FLAT_MOST,
    }];
  });
}

function titleOf(server: OurServer, figure: FigureName): string {
  return server === "countersign" ? fullTitle(figure) : `${SERVERS[server]}: ${fullTitle(figure)}`;
}

/** The growth of a figure that must stay flat, from the smallest size to the largest; `null` with one size. */
function growthOf(
  samples: readonly Sample[],
  { server, figure }: { server: OurServer; figure: FigureName },
): { from: number; to: number; ratio: number } | null {
  const row: FigureRow = FIGURES[figure];
  const sizes = sizesOf(samples, { server, figure });
  const [from, to] = [sizes[0], sizes.at(-1)];
  if (row.flat !== true || from === undefined || to === undefined || from === to) return null;
  const small = valueOf(samples, { server, users: from, figure });
  const large = valueOf(samples, { server, users: to, figure });
  return small === null || large === null ? null : { from, to, ratio: large / small };
}

/** An indented row belongs to the one above. */
function fullTitle(figure: FigureName): string {
  const { title } = FIGURES[figure];
  if (!title.startsWith(" ")) return title;
  const above = NAMES.slice(0, NAMES.indexOf(figure)).findLast((name) =>
    !FIGURES[name].title.startsWith(" ")
  );
  const head = above === undefined ? "" : FIGURES[above].title.split(":")[0];
  return `${head}: ${title.trim()}`;
}

/** Both tables. */
export function reportLines(samples: readonly Sample[]): string[] {
  const verdicts = judge(samples);
  return [...figureLines(samples), "", ...verdictLines(verdicts)];
}

interface Column {
  readonly server: ServerName;
  readonly users: number;
}

function figureLines(samples: readonly Sample[]): string[] {
  const servers = Object.keys(SERVERS) as ServerName[];
  const columns = servers.flatMap((server) =>
    sizesOf(samples, { server }).map((users): Column => ({ server, users }))
  );
  const measured = NAMES.filter((name) => samples.some(({ figure }) => figure === name));
  const cells = measured.map((figure) => [
    FIGURES[figure].title,
    FIGURES[figure].unit,
    ...columns.map((column) => {
      const value = valueOf(samples, { ...column, figure });
      return value === null ? "" : formatNumber(value, FIGURES[figure].decimals);
    }),
  ]);
  return laidOut([
    ["", "", ...columns.map(({ server }) => SERVERS[server])],
    ["users", "", ...columns.map(({ users }) => formatNumber(users, 0))],
    ...cells,
  ], { left: 2 });
}

function verdictLines(verdicts: readonly Verdict[]): string[] {
  if (verdicts.length === 0) return [];
  const ratio = (value: number | null) => value === null ? "" : formatNumber(value, value < 100 ? 2 : 0);
  return laidOut([
    ["bar", "at", "measured", "of floor", "of SCIMMY", "bar", ""],
    ...verdicts.map((one) => [
      one.title,
      one.at,
      `${formatNumber(one.value, one.decimals)} ${one.unit}`.trim(),
      ratio(one.ofFloor),
      ratio(one.ofScimmy),
      one.bar,
      one.met ? "met" : "NOT met",
    ]),
  ], { left: 1 });
}

/** Columns as wide as their widest cell; the first `left` columns are left-aligned. */
export function laidOut(rows: readonly (readonly string[])[], { left }: { left: number }): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row.map((cell, at) => at < left ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))
      .join("  ").trimEnd()
  );
}

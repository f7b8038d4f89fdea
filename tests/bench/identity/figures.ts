// The measurements of SCIM, as rows: figures, their load, and their limits.

import type { OperationName } from "./operations.ts";
import type { ServerName } from "./servers.ts";

export interface FigureRow {
  readonly title: string;
  readonly unit: "ms" | "/s" | "MB";
  readonly decimals: number;
  /** Compared from the smallest size to the largest: it may grow by {@link FLAT_MOST}. */
  readonly flat?: true;
}

export const FIGURES = {
  pageP50: { title: "page of 100, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  pageP99: { title: "  p99", unit: "ms", decimals: 2 },
  pageRate: { title: "  pages", unit: "/s", decimals: 0 },
  pageCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  getP50: { title: "GET one, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  getRate: { title: "  answers", unit: "/s", decimals: 0 },
  getCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  equalP50: { title: "userName eq, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  equalRate: { title: "  answers", unit: "/s", decimals: 0 },
  equalCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  rareWordP50: { title: "q, a rare word, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  rareWordRate: { title: "  answers", unit: "/s", decimals: 0 },
  letterP50: { title: "q, one letter, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  letterRate: { title: "  pages", unit: "/s", decimals: 0 },
  twoWordsP50: { title: "q, a common and a rare word, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  twoWordsRate: { title: "  answers", unit: "/s", decimals: 0 },
  // Not flat by its nature: more people have more namesakes.
  fullNameP50: { title: "q, given and family name, 16 at once: p50", unit: "ms", decimals: 2 },
  fullNameRate: { title: "  answers", unit: "/s", decimals: 0 },
  createP50: { title: "create, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  createP99: { title: "  p99", unit: "ms", decimals: 2 },
  createRate: { title: "  created", unit: "/s", decimals: 0 },
  createCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  replaceP50: { title: "replace, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  replaceRate: { title: "  replaced", unit: "/s", decimals: 0 },
  replaceCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  patchUserP50: { title: "PATCH user, 16 at once: p50", unit: "ms", decimals: 2, flat: true },
  patchUserRate: { title: "  changed", unit: "/s", decimals: 0 },
  patchUserCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  memberPutP50: { title: "one member of 10,000, by PUT: p50", unit: "ms", decimals: 1, flat: true },
  memberPutP99: { title: "  p99", unit: "ms", decimals: 1 },
  memberPutCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  memberPatchP50: { title: "one member of 10,000, by PATCH: p50", unit: "ms", decimals: 2, flat: true },
  memberPatchP99: { title: "  p99", unit: "ms", decimals: 2 },
  memberPatchCpu: { title: "  CPU of the server, each", unit: "ms", decimals: 3 },
  memberP50: { title: "one member of 10,000, in process: p50", unit: "ms", decimals: 2, flat: true },
  memberP99: { title: "  p99", unit: "ms", decimals: 2 },
  firstAnswer: { title: "start to first answer", unit: "ms", decimals: 0 },
  resident: { title: "resident memory after the load", unit: "MB", decimals: 0 },
  store: { title: "store on the disk, seeded", unit: "MB", decimals: 0 },
  seedRate: { title: "seeded, users", unit: "/s", decimals: 0 },
  refreshFirst: { title: "refresh from slapd: first import, users", unit: "/s", decimals: 0 },
  refreshAgain: { title: "  again, nothing changed, users", unit: "/s", decimals: 0 },
  refreshResident: { title: "  resident memory after it", unit: "MB", decimals: 0 },
} as const satisfies Record<string, FigureRow>;

export type FigureName = keyof typeof FIGURES;

/** One value of one figure; several of the same are rounds. */
export interface Sample {
  readonly server: ServerName;
  readonly users: number;
  readonly figure: FigureName;
  readonly value: number;
}

/** The two interfaces of one process: the specified one, and the full SCIM 2.0 interface. */
export const OUR_SERVERS = ["countersign", "v2"] as const satisfies readonly ServerName[];
export type OurServer = (typeof OUR_SERVERS)[number];

/** One kind of load, and the figures that it gives. */
export interface MeasurementRow {
  readonly operation: OperationName;
  readonly connections: number;
  readonly on: readonly ServerName[];
  readonly p50: FigureName;
  readonly p99?: FigureName;
  readonly rate?: FigureName;
  /** CPU time of the server for each request: less disturbed by other programs than the times. */
  readonly cpu?: FigureName;
}

const ALL = ["countersign", "v2", "floor", "scimmy"] as const;
const OURS = ["countersign"] as const;

/** In this order: loads that change the store come last. */
export const MEASUREMENTS: readonly MeasurementRow[] = [
  {
    operation: "page",
    connections: 16,
    on: ALL,
    p50: "pageP50",
    p99: "pageP99",
    rate: "pageRate",
    cpu: "pageCpu",
  },
  { operation: "get", connections: 16, on: ALL, p50: "getP50", rate: "getRate", cpu: "getCpu" },
  {
    operation: "equal",
    connections: 16,
    on: ["countersign", "v2", "scimmy"],
    p50: "equalP50",
    rate: "equalRate",
    cpu: "equalCpu",
  },
  { operation: "rareWord", connections: 16, on: OURS, p50: "rareWordP50", rate: "rareWordRate" },
  { operation: "letter", connections: 16, on: OURS, p50: "letterP50", rate: "letterRate" },
  { operation: "twoWords", connections: 16, on: OURS, p50: "twoWordsP50", rate: "twoWordsRate" },
  { operation: "fullName", connections: 16, on: OURS, p50: "fullNameP50", rate: "fullNameRate" },
  {
    operation: "create",
    connections: 16,
    on: ALL,
    p50: "createP50",
    p99: "createP99",
    rate: "createRate",
    cpu: "createCpu",
  },
  {
    operation: "replace",
    connections: 16,
    on: ALL,
    p50: "replaceP50",
    rate: "replaceRate",
    cpu: "replaceCpu",
  },
  {
    operation: "patchUser",
    connections: 16,
    on: ["v2"],
    p50: "patchUserP50",
    rate: "patchUserRate",
    cpu: "patchUserCpu",
  },
  {
    operation: "member",
    connections: 1,
    on: ["countersign", "scimmy"],
    p50: "memberPutP50",
    p99: "memberPutP99",
    cpu: "memberPutCpu",
  },
  {
    operation: "patchMember",
    connections: 1,
    on: ["v2"],
    p50: "memberPatchP50",
    p99: "memberPatchP99",
    cpu: "memberPatchCpu",
  },
];

/** A limit for an interface of Countersign; `at` a number of users, or else at the largest measured size. */
export interface BarRow {
  /** The default is the specified interface. */
  readonly server?: OurServer;
  readonly figure: FigureName;
  readonly at?: number;
  readonly bar: { readonly most: number } | { readonly least: number };
}

export const BARS: readonly BarRow[] = [
  { figure: "pageP50", at: 100_000, bar: { most: 60 } },
  { figure: "getRate", bar: { least: 1500 } },
  { figure: "equalRate", bar: { least: 1500 } },
  { figure: "createRate", bar: { least: 500 } },
  { figure: "memberPutP50", bar: { most: 10 } },
  { figure: "memberP50", bar: { most: 10 } },
  { server: "v2", figure: "memberPatchP50", bar: { most: 10 } },
  { figure: "firstAnswer", bar: { most: 1000 } },
];

/** The allowed ratio of the time at the largest size to the time at the smallest. */
export const FLAT_MOST = 2;

// Rows for custom extensions: PATCH operations, filters and projections on the attributes of an extension.

import { BADGE_URN } from "../schema/read_bodies.ts";

export const PATCHES: readonly {
  readonly operation: object;
  /** The extension afterwards, or the status and the scimType. */
  readonly gives: object | string;
}[] = [
  {
    operation: { op: "add", path: `${BADGE_URN}:number`, value: 8 },
    gives: { number: 8 },
  },
  {
    operation: { op: "Replace", path: `${BADGE_URN.toUpperCase()}:NUMBER`, value: 9 },
    gives: { number: 9 },
  },
  {
    operation: { op: "add", path: BADGE_URN, value: { doors: ["north"], isLost: true } },
    gives: { number: 9, isLost: true, doors: ["north"] },
  },
  {
    operation: { op: "add", value: { [BADGE_URN]: { doors: ["south"] } } },
    gives: { number: 9, isLost: true, doors: ["north", "south"] },
  },
  {
    operation: { op: "add", value: { [`${BADGE_URN}:weight`]: 1.5 } },
    gives: { number: 9, weight: 1.5, isLost: true, doors: ["north", "south"] },
  },
  {
    operation: { op: "remove", path: `${BADGE_URN}:weight` },
    gives: { number: 9, isLost: true, doors: ["north", "south"] },
  },
  {
    operation: { op: "add", path: `${BADGE_URN}:floors`, value: [{ value: 1 }, { value: 2, primary: true }] },
    gives: {
      number: 9,
      isLost: true,
      doors: ["north", "south"],
      floors: [{ value: 1 }, { value: 2, primary: true }],
    },
  },
  {
    operation: { op: "remove", path: `${BADGE_URN}:floors[value eq 1]` },
    gives: { number: 9, isLost: true, doors: ["north", "south"], floors: [{ value: 2, primary: true }] },
  },
  {
    operation: { op: "replace", path: `${BADGE_URN}:chip.vendor`, value: "Acme" },
    gives: {
      number: 9,
      isLost: true,
      doors: ["north", "south"],
      floors: [{ value: 2, primary: true }],
      chip: { vendor: "Acme" },
    },
  },
  { operation: { op: "replace", path: `${BADGE_URN}:chip.vendor`, value: "Other" }, gives: "400 mutability" },
  { operation: { op: "replace", path: `${BADGE_URN}:number`, value: "many" }, gives: "400 invalidValue" },
  { operation: { op: "replace", path: `${BADGE_URN}:none`, value: 1 }, gives: "400 invalidPath" },
  { operation: { op: "replace", path: `${BADGE_URN}:__proto__`, value: 1 }, gives: "400 invalidPath" },
  {
    operation: { op: "replace", path: `${BADGE_URN}:lastSeen`, value: "2020-01-01T00:00:00Z" },
    gives: "400 mutability",
  },
  { operation: { op: "remove", path: BADGE_URN }, gives: "gone" },
];

export const FILTERS: readonly (readonly [filter: string, names: string])[] = [
  [`${BADGE_URN}:number eq 7`, "ada"],
  [`${BADGE_URN.toUpperCase()}:Number ge 7`, "ada bob"],
  [`${BADGE_URN}:number gt 8`, "bob"],
  [`${BADGE_URN}:number lt 9`, "ada"],
  [`${BADGE_URN}:number pr and userName sw "b"`, "bob"],
  [`not (${BADGE_URN}:number pr)`, "eve"],
  [`${BADGE_URN}:floors[value eq 3 and primary eq true]`, "bob"],
  [`${BADGE_URN}:floors.value eq 3`, "bob"],
  [`${BADGE_URN}:doors co "or"`, "ada"],
  [`${BADGE_URN}:serial eq "ab"`, ""],
  [`${BADGE_URN}:serial eq "AB"`, "ada"],
  [`${BADGE_URN}:isLost eq true`, "bob"],
  [`schemas eq "${BADGE_URN}"`, "ada bob"],
  [`${BADGE_URN} pr`, "ada bob"],
  [`${BADGE_URN}:notes eq "secret"`, "ada"],
  [`${BADGE_URN}:none eq 7`, "400 invalidFilter"],
  [`${BADGE_URN}:number eq "x"`, ""],
  // Entra ID leaves the URN out.
  ["number eq 7", "ada"],
];

export const PROJECTIONS: readonly (readonly [query: string, badge: object | undefined])[] = [
  ["", { number: 7, serial: "AB", colour: "red", doors: ["north"] }],
  [`attributes=${BADGE_URN}`, { number: 7, serial: "AB", notes: "secret", colour: "red", doors: ["north"] }],
  [`attributes=${BADGE_URN}:number`, { number: 7, colour: "red" }],
  [`attributes=userName`, { colour: "red" }],
  [`excludedAttributes=${BADGE_URN}:doors`, { number: 7, serial: "AB", colour: "red" }],
  [`excludedAttributes=${BADGE_URN}`, { colour: "red" }],
];

// Five users, and lists and searches that find only these.

import { type Step } from "./suite_row.ts";
import { get, SEARCH_REQUEST, user } from "./suite_steps.ts";

/** Five users, whose names are not in the order of their titles. */
export const FIVE_USERS: readonly Step[] = [
  user("ann", { title: "e", name: { familyName: "young" }, emails: [{ value: "z@{row}.example.com" }] }),
  user("ben", { title: "D", name: { familyName: "Xu" } }),
  user("cid", {
    title: "c",
    emails: [{ value: "b@{row}.example.com" }, { value: "a@{row}.example.com", primary: true }],
  }),
  user("dan", { title: "B" }),
  user("eva"),
];

const MINE = 'userName sw "{row}-"';

export const namesOf = (...given: string[]) => given.map((name) => `{row}-${name}`);

export const listFive = (query: Record<string, string>, json: Record<string, unknown>): Step =>
  get("/Users", json, { query: { filter: MINE, sortBy: "userName", ...query } });

export const searchFive = (
  body: Record<string, unknown>,
  json: Record<string, unknown>,
  path = "/Users",
): Step => ({
  send: `POST ${path}/.search`,
  body: { schemas: [SEARCH_REQUEST], filter: MINE, ...body },
  status: 200,
  json,
});

// The tools of lists with the keyboard, and rows that disappear.

import type { KeyTask } from "./keyboard_run.ts";
import {
  denyElsewhere,
  type KeyWorld,
  LIVE_START,
  pairWith,
  sendLogin,
  USERS_START,
} from "./keyboard_world.ts";

/** What every list has: row menus, columns, saved filters, filters with chips, orders, and the bar of a selection. */
export const KEY_LISTS: Readonly<Record<string, KeyTask<KeyWorld>>> = {
  "the menu of a row": {
    at: USERS_START,
    atMost: 17,
    steps: [
      ["press", "j"],
      ["tab to", "button", /^Actions for/],
      ["press", "Enter", "ArrowDown", "End", "Home", "Escape"],
      ["focus on", "button", /^Actions for/],
      ["press", "Space", "Tab"],
    ],
  },
  "the columns": {
    at: USERS_START,
    atMost: 23,
    steps: [
      ["tab to", "button", "Columns"],
      ["press", "Enter", "ArrowDown", "Space", "Space", "Escape"],
      ["focus on", "button", "Columns"],
    ],
  },
  "a saved filter": {
    at: { path: "/users?status=inactive", heading: "Users" },
    atMost: 23,
    steps: [
      ["tab to", "button", "Saved filters"],
      ["press", "Enter"],
      ["see", "menuitem", "Save current filters"],
      ["press", "Enter"],
      ["type", "gone"],
      ["press", "Enter"],
      ["focus on", "button", "Saved filters"],
      ["press", "Enter", "End", "Enter"],
      ["see text", "Filter gone removed."],
    ],
  },
  "a filter and its chip": {
    at: USERS_START,
    atMost: 21,
    steps: [
      ["tab to", "combobox", "Status"],
      ["press", "d"],
      ["see text", "1–1 of 1"],
      ["tab to", "button", /^Remove filter|^Clear/],
      ["press", "Enter"],
      ["see text", /of \d\d?$/],
    ],
  },
  "a cell as a filter": {
    at: USERS_START,
    atMost: 11,
    steps: [
      ["press", "j"],
      ["tab to", "button", "Active"],
      ["press", "Enter"],
      ["see", "button", /Status: Active/],
      ["tab to", "button", /^Actions for/],
    ],
  },
  "the order": {
    at: USERS_START,
    atMost: 22,
    steps: [
      ["tab to", "button", "User name"],
      ["press", "Enter", "Enter"],
      ["focus on", "button", "User name"],
    ],
  },
  "a selection that is cleared": {
    at: USERS_START,
    atMost: 11,
    steps: [
      ["press", "j", "x"],
      ["see", "region", "1 selected"],
      ["press", "a"],
      ["tab to", "button", "Clear selection"],
      ["press", "Enter"],
      ["focus on", "link", "alice"],
    ],
  },
  "a row that is removed": {
    at: { path: "/devices", heading: "Authenticators" },
    atMost: 30,
    steps: [
      ["tab to", "button", /^Actions for .*erin/],
      ["press", "Enter", "End"],
      ["focus on", "menuitem", "Revoke"],
      ["press", "Enter"],
      ["see", "dialog", /./],
      ["tab to", "button", "Revoke"],
      ["press", "Enter"],
      ["focus on", "link", "grace"],
    ],
  },
  "an approval that ends on its own": {
    at: LIVE_START,
    atMost: 10,
    steps: [
      ["after", async (world) => {
        await pairWith(world, "bob");
        await sendLogin(world, "bob");
        await sendLogin(world, "grace");
      }],
      ["press", "a"],
      ["see", "button", /^Deny the sign-in of grace/],
      ["tab to", "button", /^Deny the sign-in of bob/],
      ["after", (world) => denyElsewhere(world, "bob")],
      ["focus on", "link", "grace"],
    ],
  },
};

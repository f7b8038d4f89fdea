// The rows of the pages about the gateway itself: audit, settings, access.

import { ALWAYS_SOMETHING, file, type PlaceRow } from "../place_row.ts";

export const GOVERN_ROWS: Readonly<Record<string, PlaceRow>> = {
  "audit": {
    place: "audit",
    path: () => "/audit",
    heading: () => "Audit",
    shows: () => "owner",
    // Their own sign-in is there already.
    nothing: { says: "owner" },
    dialogs: [],
  },
  "settings": {
    place: "settings",
    path: () => "/settings",
    heading: () => "Settings",
    shows: () => "What holds for everybody",
    nothing: ALWAYS_SOMETHING,
    dialogs: [],
  },
  "settings, retention": {
    place: "settings",
    path: () => "/settings#retention",
    heading: () => "Settings",
    shows: () => "Finished logins",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "settings, RADIUS policy": {
    place: "settings",
    path: () => "/settings#radius",
    heading: () => "Settings",
    shows: () => /radius[.]/,
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "settings, look": {
    place: "settings",
    path: () => "/settings#look",
    heading: () => "Settings",
    shows: () => "Theme",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "settings, about": {
    place: "settings",
    path: () => "/settings#about",
    heading: () => "Settings",
    shows: () => "hono",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "access": {
    place: "access",
    path: () => "/access",
    heading: () => "Access",
    shows: ({ administrator }) => administrator,
    nothing: ALWAYS_SOMETHING,
    dialogs: [
      {
        file: file("access/invite_dialog"),
        name: "Invite an administrator",
        steps: [["button", "Invite an administrator"]],
      },
      {
        file: file("access/invite_dialog"),
        name: "Link for Dot",
        isSecret: true,
        steps: [["button", "Invite an administrator"], ["fill", "Name", "Dot"], ["button", "Make the link"]],
      },
      { file: file("access/admin_dialog"), name: "viewer", steps: [["button", "Change viewer"]] },
      { file: file("access/admin_dialog"), name: "Invited", steps: [["button", "Change Invited"]] },
      {
        file: file("access/admin_dialog"),
        name: /^Remove /,
        steps: [["button", /^Change (?!viewer|Invited|owner|operator|user_manager|Dot)/], [
          "button",
          "Remove",
        ]],
      },
    ],
  },
  "access, one's own ways in": {
    place: "access",
    path: () => "/access#sign-in",
    heading: () => "Access",
    shows: () => "No passkey yet.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [
      {
        file: file("access/own_factors"),
        name: "Set up an authenticator app",
        steps: [["button", "Set up an authenticator app"], ["see", "Or type it there:"]],
      },
      { file: file("access/own_factors"), name: "Add a passkey", steps: [["button", "Add a passkey"]] },
    ],
    byName: true,
  },
  "access, sessions": {
    place: "access",
    path: () => "/access#sessions",
    heading: () => "Access",
    shows: () => "(this one)",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "access, tokens": {
    place: "access",
    path: () => "/access#tokens",
    heading: () => "Access",
    shows: ({ token }) => token,
    nothing: { says: "No API tokens.", path: "/access#tokens" },
    part: true,
    dialogs: [
      { file: file("access/token_dialog"), name: "Make a token", steps: [["button", "Make a token"]] },
      {
        file: file("secret_once"),
        isSecret: true,
        name: "Token script",
        steps: [["button", "Make a token"], ["fill", "Name of the token", "script"], [
          "button",
          "Make a token",
        ]],
      },
      { file: file("access/token_list"), name: /^Revoke the token/, steps: [["button", /^Revoke /]] },
    ],
  },
};

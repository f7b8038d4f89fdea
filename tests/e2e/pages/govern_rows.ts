// The rows of the pages about the gateway itself: audit, settings, access.

import { ALWAYS_SOMETHING, type PageRow } from "./page_row.ts";

export const GOVERN_ROWS: Readonly<Record<string, PageRow>> = {
  "audit": {
    place: "audit",
    path: () => "/audit",
    heading: () => "Audit log",
    shows: () => "owner",
    // Their own sign-in is already recorded.
    nothing: { says: "owner" },
    dialogs: [],
  },
  "settings": {
    place: "settings",
    path: () => "/settings",
    heading: () => "Settings",
    shows: () => "Global rules",
    nothing: ALWAYS_SOMETHING,
    dialogs: [],
  },
  "settings, retention": {
    place: "settings",
    path: () => "/settings#retention",
    heading: () => "Settings",
    shows: () => "Finished sign-ins",
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
        file: "pages/access/admin_dialogs.tsx",
        name: "Invite administrator",
        steps: [["button", "Invite administrator"]],
      },
      {
        file: "pages/access/admin_dialogs.tsx",
        name: "Link for Dot",
        isSecret: true,
        steps: [["button", "Invite administrator"], ["fill", "Name", "Dot"], ["button", "Create link"]],
      },
      { file: "pages/access/admin_dialogs.tsx", name: "viewer", steps: [["button", "Change viewer"]] },
      { file: "pages/access/admin_dialogs.tsx", name: "Invited", steps: [["button", "Change Invited"]] },
      {
        file: "pages/access/admin_dialogs.tsx",
        name: /^Remove /,
        steps: [["button", /^Change (?!viewer|Invited|owner|operator|user_manager|Dot)/], [
          "button",
          "Remove",
        ]],
      },
    ],
  },
  "access, the administrator's own sign-in methods": {
    place: "access",
    path: () => "/access#sign-in",
    heading: () => "Access",
    shows: () => "No passkeys yet.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [
      {
        file: "pages/access/own_factors.tsx",
        name: "Set up an authenticator app",
        steps: [["button", "Set up an authenticator app"], ["see", "Or enter this key:"]],
      },
      { file: "pages/access/own_factors.tsx", name: "Add a passkey", steps: [["button", "Add a passkey"]] },
    ],
    byName: true,
  },
  "access, sessions": {
    place: "access",
    path: () => "/access#sessions",
    heading: () => "Access",
    shows: () => "(this session)",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "access, tokens": {
    place: "access",
    path: () => "/access#tokens",
    heading: () => "Access",
    shows: ({ token }) => token,
    nothing: { says: "No API tokens yet.", path: "/access#tokens" },
    part: true,
    dialogs: [
      { file: "pages/access/access_lists.tsx", name: "Create token", steps: [["button", "Create token"]] },
      {
        file: "components/form_dialog.tsx",
        isSecret: true,
        name: "Token script",
        steps: [["button", "Create token"], ["fill", "Token name", "script"], [
          "button",
          "Create token",
        ]],
      },
      { file: "pages/access/access_lists.tsx", name: /^Revoke the token/, steps: [["button", /^Revoke /]] },
    ],
  },
};

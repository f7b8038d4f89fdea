// Every page as a row: how it is reached, what it shows, what it says when there is nothing and when nothing comes, and its dialogs
// with the buttons that open them. Data alone; tests over all pages walk it, and a place without a row fails them.

import type { PlaceName } from "../../console/web/places.ts";
import { FULL_CREDENTIAL, FULL_CREW, FULL_LOGIN, FULL_OTHER, type FullNames } from "../fakes/console_full.ts";

/** One deed on the page, by what a person sees. */
export type Step =
  | readonly [role: "button" | "link" | "checkbox" | "option", name: string | RegExp]
  | readonly [deed: "fill", label: string, value: string]
  | readonly [deed: "file", label: string, text: string]
  | readonly [deed: "see", text: string | RegExp];

export interface DialogRow {
  /** The file below `console/web` that draws it. */
  readonly file: string;
  readonly name: string | RegExp;
  readonly steps: readonly Step[];
  /** How it is opened on a small screen, where that differs. */
  readonly smallSteps?: readonly Step[];
}

export interface PlaceRow {
  readonly place: PlaceName | "sign_in";
  readonly path: (names: FullNames) => string;
  readonly heading: (names: FullNames) => string | RegExp;
  /** What stands there with data. */
  readonly shows: (names: FullNames) => string | RegExp;
  /** What it says with nothing in it, and where if elsewhere; `null` where there is always something. */
  readonly nothing: { readonly says: string | RegExp; readonly path?: string } | null;
  /** What is done for it to ask the server, where opening alone does not. */
  readonly asks?: readonly Step[];
  /** What it says when the server answers nothing good; an alert unless given. */
  readonly fails?: { readonly role: "alert" | "status"; readonly says: string | RegExp };
  readonly dialogs: readonly DialogRow[];
  /** A part of a page that another row has: message and palette were seen over that. */
  readonly part?: true;
  /** No rail, no palette, no session. */
  readonly outside?: true;
  /** Only by a host name, as what is about passkeys. */
  readonly byName?: true;
}

const file = (name: string) => `parts/${name}.tsx`;
const user = (hash = "") => ({ user }: FullNames) => `/users/${encodeURIComponent(user)}${hash}`;
const people = (name: string) => file(`people/${name}`);
const CSV = "userName,displayName\neve,Eve\n,Nobody\n";
const ALWAYS_SOMETHING = null;

export const PLACE_ROWS: Readonly<Record<string, PlaceRow>> = {
  "sign-in": {
    place: "sign_in",
    path: () => "/live",
    heading: () => "Sign in",
    shows: () => "This console shows logins of the gateway as they happen.",
    nothing: ALWAYS_SOMETHING,
    asks: [["fill", "Name", "owner"], ["fill", "Password", "wrong"], ["button", "Sign in"]],
    dialogs: [],
    outside: true,
  },
  "set-up": {
    place: "set_up",
    path: () => "/setup#no-such-link",
    heading: () => "Set up the first owner",
    shows: () => "An owner may do everything here.",
    nothing: ALWAYS_SOMETHING,
    dialogs: [],
    outside: true,
  },
  "live": {
    place: "live",
    path: () => "/live",
    heading: () => "Live",
    shows: ({ loginUser }) => loginUser,
    nothing: { says: "No logins yet" },
    fails: { role: "status", says: "The server does not answer." },
    dialogs: [
      {
        file: file("frame/help_dialog"),
        name: "Keys",
        steps: [["button", "Keys"]],
        smallSteps: [["button", "More"], ["button", "Keys"]],
      },
      {
        file: file("frame/look_dialog"),
        name: "Look",
        steps: [["button", "Look"]],
        smallSteps: [["button", "More"], ["button", "Look"]],
      },
    ],
  },
  "live, a login chosen": {
    place: "live",
    path: () => `/live?c=${FULL_LOGIN}`,
    heading: () => "Live",
    shows: () => "The phone denied the request",
    nothing: { says: /not known here/, path: "/live?c=nobody" },
    fails: { role: "status", says: "The server does not answer." },
    part: true,
    dialogs: [],
  },
  "conversation": {
    place: "conversation",
    path: () => `/live/c/${FULL_LOGIN}`,
    heading: () => "Login",
    shows: () => "The phone denied the request",
    nothing: { says: /not known here/, path: "/live/c/nobody" },
    dialogs: [],
  },
  "dropped": {
    place: "dropped",
    path: () => "/live/dropped",
    heading: () => "Dropped packets",
    shows: () => /from 192\.0\.2\.9/,
    nothing: { says: "No packet was dropped lately" },
    dialogs: [],
  },
  "history": {
    place: "history",
    path: () => "/history",
    heading: () => "History",
    shows: ({ loginUser }) => loginUser,
    nothing: { says: "No login has ended yet" },
    dialogs: [],
  },
  "history, narrowed to nothing": {
    place: "history",
    path: () => "/history?user=nobody-like-this",
    heading: () => "History",
    shows: () => "No login matches",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "charts": {
    place: "charts",
    path: () => "/charts?range=1h",
    heading: () => "Charts",
    shows: () => "How logins ended",
    nothing: { says: "Nothing ended in this range" },
    dialogs: [],
  },
  "health": {
    place: "health",
    path: () => "/health",
    heading: () => "Health",
    shows: () => "RADIUS listener",
    nothing: ALWAYS_SOMETHING,
    dialogs: [],
  },
  "users": {
    place: "users",
    path: () => "/users",
    heading: () => "Users",
    shows: ({ user }) => user,
    nothing: { says: "No users yet." },
    dialogs: [
      { file: people("create_user_dialog"), name: "Create user", steps: [["button", "Create user"]] },
      {
        file: people("bulk_dialogs"),
        name: "Delete 1 user?",
        steps: [["checkbox", `Choose ${FULL_OTHER}`], ["button", "Delete"]],
      },
      { file: people("bulk_dialogs"), name: "Deactivate 1 user?", steps: [["button", "Deactivate"]] },
      { file: people("bulk_dialogs"), name: "Add to a group", steps: [["button", "Add to a group"]] },
    ],
  },
  "users, narrowed to nothing": {
    place: "users",
    path: () => "/users?q=nobody-like-this&status=active",
    heading: () => "Users",
    shows: () => "No users match.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "import": {
    place: "import",
    path: () => "/users/import",
    heading: () => "Import users",
    shows: () => "Nothing is written before you have seen what would be.",
    nothing: ALWAYS_SOMETHING,
    asks: [["file", "File", CSV]],
    dialogs: [
      {
        file: file("import/row_dialog"),
        name: "Line 3",
        steps: [["file", "File", CSV], ["button", "Put right Line 3"]],
      },
    ],
  },
  "user": {
    place: "user",
    path: user(),
    heading: ({ user }) => user,
    shows: () => "A name cannot be changed",
    nothing: { says: "The directory has no user of that name.", path: "/users/nobody" },
    dialogs: [
      { file: people("trial_dialog"), name: /^Try a login of/, steps: [["button", "Try a login"]] },
      {
        file: people("me_link_dialog"),
        name: /^Self-service link/,
        steps: [["button", "Self-service link"]],
      },
      { file: people("password_dialog"), name: /^Set the password of/, steps: [["button", "Set password"]] },
      { file: people("delete_user_dialog"), name: /^Delete /, steps: [["button", "Delete"]] },
      {
        file: people("deactivate_user_dialog"),
        name: /^Deactivate /,
        steps: [["button", "Deactivate"]],
      },
      {
        file: people("review_dialog"),
        name: /^Save these changes of/,
        steps: [["fill", "Title", "Analyst"], ["button", "Review changes"]],
      },
    ],
  },
  "user, groups": {
    place: "user",
    path: user("#groups"),
    heading: ({ user }) => user,
    shows: ({ group }) => group,
    nothing: { says: "The directory has no user of that name.", path: "/users/nobody#groups" },
    part: true,
    dialogs: [],
  },
  "user, factors": {
    place: "user",
    path: user("#devices"),
    heading: ({ user }) => user,
    shows: () => "Text message",
    nothing: { says: "No second factor yet.", path: "/users/nobody#devices" },
    part: true,
    dialogs: [
      { file: people("factor_dialogs"), name: /^Invite a phone of/, steps: [["button", "Invite a phone"]] },
      {
        file: people("factor_dialogs"),
        name: /^Authenticator app of/,
        steps: [["button", "Add an authenticator app"]],
      },
      { file: people("factor_dialogs"), name: /^A number of/, steps: [["button", "Add a number"]] },
      { file: people("user_factors"), name: /^Revoke Text message/, steps: [["button", /^Revoke Text/]] },
    ],
  },
  "user, backends": {
    place: "user",
    path: user("#backends"),
    heading: ({ user }) => user,
    shows: () => "What the directory serves, and what each backend holds.",
    nothing: { says: "The directory has no user of that name.", path: "/users/nobody#backends" },
    part: true,
    dialogs: [],
  },
  "user, timeline": {
    place: "user",
    path: user("#timeline"),
    heading: ({ user }) => user,
    shows: () => "Created",
    nothing: { says: "Nothing has happened yet.", path: "/users/nobody#timeline" },
    part: true,
    dialogs: [],
  },
  "groups": {
    place: "groups",
    path: () => "/groups",
    heading: () => "Groups",
    shows: ({ group }) => group,
    nothing: { says: "No groups yet." },
    dialogs: [
      {
        file: file("groups/create_group_dialog"),
        name: "Create group",
        steps: [["button", "Create group"]],
      },
    ],
  },
  "group": {
    place: "group",
    path: ({ group }) => `/groups/${encodeURIComponent(group)}`,
    heading: ({ group }) => group,
    shows: () => FULL_OTHER,
    nothing: { says: "That is not in this target.", path: "/groups/nobody" },
    dialogs: [
      {
        file: file("groups/delete_group_dialog"),
        name: /^Delete the group/,
        steps: [["button", "Delete group"]],
      },
    ],
  },
  "group whose replies are the console's": {
    place: "group",
    path: () => `/groups/${FULL_CREW}`,
    heading: () => FULL_CREW,
    shows: () => "Nobody is in this group.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [
      {
        file: file("groups/replies_dialog"),
        name: `Reply attributes of ${FULL_CREW}`,
        steps: [["button", "Edit reply attributes"]],
      },
    ],
  },
  "devices": {
    place: "devices",
    path: () => "/devices",
    heading: () => "Devices",
    shows: () => FULL_OTHER,
    nothing: { says: "No phone, number or app yet." },
    dialogs: [
      {
        file: "pages/devices_page.tsx",
        name: /^Revoke Text message of/,
        steps: [["button", `Revoke Text message ${FULL_OTHER}`]],
      },
    ],
  },
  "clients": {
    place: "clients",
    path: () => "/clients",
    heading: () => "RADIUS clients",
    shows: () => "of-file",
    nothing: { says: "No RADIUS clients yet." },
    dialogs: [
      {
        file: file("connect/add_client_dialog"),
        name: "Add a client",
        steps: [["button", "Add a client"], ["see", "192.0.2.77"]],
      },
      {
        file: file("secret_once"),
        name: "Shared secret of vpn-9",
        steps: [
          ["button", "Add a client"],
          ["fill", "Name", "vpn-9"],
          ["fill", "Addresses", "203.0.113.9"],
          ["button", "Add a client"],
        ],
      },
    ],
  },
  "client": {
    place: "client",
    path: () => "/clients/vpn-1",
    heading: () => "vpn-1",
    shows: () => "Packets since the start",
    nothing: { says: "No RADIUS client has that name.", path: "/clients/nobody" },
    dialogs: [
      {
        file: file("connect/client_review"),
        name: /vpn-1/,
        steps: [["fill", "NAS-Identifier", "vpn-of-2"], ["button", "Review changes"]],
      },
      {
        file: file("connect/client_dialogs"),
        name: "Rotate the secret of vpn-1",
        steps: [["button", "Rotate the secret"]],
      },
      {
        file: file("connect/client_dialogs"),
        name: "Remove the client vpn-1?",
        steps: [["button", "Remove the client"]],
      },
    ],
  },
  "client of the settings file": {
    place: "client",
    path: () => "/clients/of-file",
    heading: () => "of-file",
    shows: () => "This client stands in the settings file.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "targets": {
    place: "targets",
    path: () => "/targets",
    heading: () => "Targets",
    shows: () => "default",
    nothing: ALWAYS_SOMETHING,
    dialogs: [],
  },
  "target": {
    place: "target",
    path: () => "/targets/default",
    heading: () => "default",
    shows: () => "Try another mapping on a real user.",
    nothing: { says: /There is nothing here|no target/i, path: "/targets/nobody" },
    dialogs: [],
  },
  "credentials": {
    place: "credentials",
    path: () => "/credentials",
    heading: () => "SCIM credentials",
    shows: () => FULL_CREDENTIAL,
    nothing: { says: "No SCIM credentials yet." },
    dialogs: [
      {
        file: file("connect/credential_dialog"),
        name: "Add a credential",
        steps: [["button", "Add a credential"]],
      },
      {
        file: file("secret_once"),
        name: "Password of payroll",
        steps: [["button", "Add a credential"], ["fill", "Name", "payroll"], ["button", "Add a credential"]],
      },
      {
        file: "pages/credentials_page.tsx",
        name: /^Revoke the credential/,
        steps: [["button", `Revoke ${FULL_CREDENTIAL}`]],
      },
    ],
  },
  "audit": {
    place: "audit",
    path: () => "/audit",
    heading: () => "Audit",
    shows: () => "owner",
    nothing: { says: /./ },
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

/** Dialogs that no page has for its own, and where they are looked at. */
export const DIALOGS_ELSEWHERE: Readonly<Record<string, string>> = {
  [file("groups/replies_dialog")]: "groups_test.ts",
  "parts/dialog.tsx": "draws all of them",
  "parts/confirm_dialog.tsx": "draws all that ask",
  "parts/form_dialog.tsx": "draws all that are forms",
  "parts/frame/palette.tsx": "on every page, in places_test.ts",
  "parts/access/sign_in_dialog.tsx": "over every form, in forms_test.ts",
};

/** The row of that name, which must be there. */
export function rowOf(name: string): PlaceRow {
  const row = PLACE_ROWS[name];
  if (row === undefined) throw new Error(`No page is called ${name}`);
  return row;
}

// The rows of the pages about people: users, their import, groups, devices.

import { FULL_CREW, FULL_OTHER, type FullNames } from "../../fakes/console_full.ts";
import { ALWAYS_SOMETHING, file, type PlaceRow } from "../place_row.ts";

const user = (hash = "") => ({ user }: FullNames) => `/users/${encodeURIComponent(user)}${hash}`;
/** Where there is little room the rarer deeds stand in a menu. */
const MORE = ["button", /^More .+/] as const;
const CSV = "userName,displayName\neve,Eve\n,Nobody\n";

export const PEOPLE_ROWS: Readonly<Record<string, PlaceRow>> = {
  "users": {
    place: "users",
    path: () => "/users",
    heading: () => "Users",
    shows: ({ user }) => user,
    nothing: { says: "No users yet." },
    dialogs: [
      { file: file("people/create_user_dialog"), name: "Create user", steps: [["button", "Create user"]] },
      {
        file: file("people/bulk_dialogs"),
        name: "Delete 1 user?",
        steps: [["checkbox", `Choose ${FULL_OTHER}`], ["button", "Delete"]],
      },
      { file: file("people/bulk_dialogs"), name: "Deactivate 1 user?", steps: [["button", "Deactivate"]] },
      { file: file("people/bulk_dialogs"), name: "Add to a group", steps: [["button", "Add to a group"]] },
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
    nothing: { says: "The directory has no user with this name.", path: "/users/nobody" },
    dialogs: [
      { file: file("people/trial_dialog"), name: /^Try a login of/, steps: [["button", "Try a login"]] },
      {
        file: file("people/me_link_dialog"),
        name: /^Self-service link/,
        steps: [["button", "Self-service link"]],
        smallSteps: [MORE, ["button", "Self-service link"]],
      },
      {
        file: file("people/password_dialog"),
        name: /^Set the password of/,
        steps: [["button", "Set password"]],
        smallSteps: [MORE, ["button", "Set password"]],
      },
      {
        file: file("people/delete_user_dialog"),
        name: /^Delete /,
        steps: [["button", "Delete"]],
        smallSteps: [MORE, ["button", "Delete"]],
      },
      {
        file: file("people/deactivate_user_dialog"),
        name: /^Deactivate /,
        steps: [["button", "Deactivate"]],
        smallSteps: [MORE, ["button", "Deactivate"]],
      },
      {
        file: file("review_dialog"),
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
    nothing: { says: "The directory has no user with this name.", path: "/users/nobody#groups" },
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
      {
        file: file("people/factor_dialogs"),
        name: /^Invite a phone of/,
        steps: [["button", "Invite a phone"]],
      },
      {
        file: file("people/factor_dialogs"),
        name: /^Authenticator app of/,
        steps: [["button", "Add an authenticator app"]],
      },
      { file: file("people/factor_dialogs"), name: /^A number of/, steps: [["button", "Add a number"]] },
      {
        file: file("people/user_factors"),
        name: /^Revoke Text message/,
        steps: [["button", /^Revoke Text/]],
      },
    ],
  },
  "user, backends": {
    place: "user",
    path: user("#backends"),
    heading: ({ user }) => user,
    shows: () => "What the directory serves, and what each backend holds.",
    nothing: { says: "The directory has no user with this name.", path: "/users/nobody#backends" },
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
    shows: () => "This group has no members.",
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
};

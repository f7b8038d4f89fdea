// The rows of the pages about users, their import, groups, devices, tokens and enrolment.

import { deletedName, FULL_CREW, FULL_OTHER, type FullNames } from "../../fakes/console_full.ts";
import { FULL_FREE_TOKEN } from "../../fakes/full_tokens.ts";
import { ALWAYS_SOMETHING, type PageRow, type Step } from "./page_row.ts";

// The rows of the pages about users, their import, groups and devices.

const user = (hash = "") => ({ user }: FullNames) => `/users/${encodeURIComponent(user)}${hash}`;
/** The heading of a user is the display name. Its beginning is enough. */
const displayName = ({ text }: FullNames) => text.slice(0, 20);
/** The less frequent actions are in a menu. */
const MORE = ["button", /^More .+/] as const;
const CSV = "userName,displayName\neve,Eve\n,Unnamed\n";

/** On a small screen, the actions of the selection are in a menu. */
const BAR: readonly Step[] = [["button", "Actions for the selection"]];
const SAVED: readonly Step[] = [["button", "Saved filters"], ["menuitem", "Save current filters"]];

/** The dialog of invitations shows whom it would invite. */
const PREVIEWED: Step = ["see", /users? gets? a mail/];

export const PEOPLE_ROWS: Readonly<Record<string, PageRow>> = {
  "users": {
    place: "users",
    path: () => "/users",
    heading: () => "Users",
    shows: ({ user }) => user,
    nothing: { says: "No users yet." },
    dialogs: [
      { file: "pages/users/create_user_dialog.tsx", name: "Create user", steps: [["button", "Create user"]] },
      {
        file: "pages/users/bulk_dialogs.tsx",
        name: "Delete 1 user?",
        steps: [["checkbox", `Select ${FULL_OTHER}`], ["button", "Delete"]],
        smallSteps: [["checkbox", `Select ${FULL_OTHER}`], ...BAR, ["menuitem", "Delete"]],
      },
      {
        file: "pages/users/bulk_dialogs.tsx",
        name: "Deactivate 1 user?",
        steps: [["button", "Deactivate"]],
        smallSteps: [...BAR, ["menuitem", "Deactivate"]],
      },
      {
        file: "pages/users/bulk_dialogs.tsx",
        name: "Add 1 user to a group",
        steps: [["button", "Add to group"]],
        smallSteps: [...BAR, ["menuitem", "Add to group"]],
      },
      {
        file: "pages/enrolment/invite_dialog.tsx",
        name: "Invite users",
        steps: [["button", "Invite…"], PREVIEWED],
        smallSteps: [...BAR, ["menuitem", "Invite…"], PREVIEWED],
      },
      {
        file: "components/list_page.tsx",
        name: "Save current filters",
        steps: [["fill", "Search users", FULL_OTHER], ...SAVED],
        smallSteps: [["fill", "Search users", FULL_OTHER], ["button", "Filters and columns"], ...SAVED],
      },
    ],
  },
  "users, narrowed to nothing": {
    place: "users",
    path: () => "/users?q=no-such-name&status=active",
    heading: () => "Users",
    shows: () => "No users match.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "deleted users": {
    place: "deleted_users",
    path: () => "/deleted-users",
    heading: () => "Deleted users",
    shows: deletedName,
    nothing: { says: "No deleted users." },
    dialogs: [
      {
        file: "pages/users/deleted_users_page.tsx",
        name: "Delete 1 user permanently?",
        steps: [["checkbox", /^Select .*z$/], ["button", "Delete permanently"]],
        smallSteps: [["checkbox", /^Select .*z$/], ...BAR, ["menuitem", "Delete permanently"]],
      },
    ],
  },
  "import": {
    place: "import",
    path: () => "/users/import",
    heading: () => "Import users",
    shows: () => "You see a preview before anything is written.",
    nothing: ALWAYS_SOMETHING,
    asks: [["file", "File", CSV]],
    dialogs: [
      {
        file: "pages/import/import_page.tsx",
        name: "Fix line 3",
        steps: [["file", "File", CSV], ["button", "Fix Line 3"]],
      },
    ],
  },
  "user": {
    place: "user",
    path: user(),
    heading: displayName,
    shows: () => "Latest sign-ins",
    nothing: { says: "The directory has no user with this name.", path: "/users/unknown" },
    dialogs: [
      { file: "pages/users/user_trial.tsx", name: /^Test sign-in of/, steps: [["button", "Test sign-in"]] },
      {
        file: "pages/users/user_dialogs.tsx",
        name: /^Self-service link/,
        steps: [MORE, ["menuitem", "Self-service link"]],
      },
      {
        file: "pages/users/user_dialogs.tsx",
        name: /^Set password for/,
        steps: [MORE, ["menuitem", "Set password"]],
      },
      { file: "pages/users/user_dialogs.tsx", name: /^Delete /, steps: [MORE, ["menuitem", "Delete"]] },
      {
        file: "pages/users/user_dialogs.tsx",
        name: /^Deactivate /,
        steps: [MORE, ["menuitem", "Deactivate"]],
      },
      {
        file: "pages/users/help_desk_dialogs.tsx",
        name: /^Bypass code for/,
        steps: [["button", "Issue bypass code"]],
      },
      {
        file: "pages/users/help_desk_dialogs.tsx",
        name: /lost a phone$/,
        steps: [["button", "Lost phone"]],
      },
    ],
  },
  "user, profile": {
    place: "user",
    path: user("#profile"),
    heading: displayName,
    shows: () => "User names can't be changed.",
    nothing: { says: "The directory has no user with this name.", path: "/users/unknown#profile" },
    part: true,
    dialogs: [
      {
        file: "components/review_dialog.tsx",
        name: /^Save these changes to/,
        steps: [["fill", "Job title", "Analyst"], ["button", "Review changes"]],
      },
      {
        file: "components/replies_dialog.tsx",
        name: /^Reply attributes of/,
        steps: [["button", "Edit reply attributes"]],
      },
    ],
  },
  "user, groups": {
    place: "user",
    path: user("#groups"),
    heading: displayName,
    shows: ({ group }) => group,
    nothing: { says: "The directory has no user with this name.", path: "/users/unknown#groups" },
    part: true,
    dialogs: [],
  },
  "user, factors": {
    place: "user",
    path: user("#devices"),
    heading: displayName,
    shows: () => "Text message",
    nothing: { says: "No second factors yet.", path: "/users/unknown#devices" },
    part: true,
    dialogs: [
      {
        file: "pages/users/factor_dialogs.tsx",
        name: /^Pair a phone for/,
        steps: [["button", "Pair a phone"]],
      },
      {
        file: "pages/users/factor_dialogs.tsx",
        name: /^Add an authenticator app for/,
        steps: [["button", "Add authenticator app"]],
      },
      {
        file: "pages/tokens/user_tokens.tsx",
        name: /^Assign a hardware token to/,
        steps: [["button", "Assign hardware token"]],
      },
      {
        file: "pages/tokens/user_tokens.tsx",
        name: "Unassign token 1000001?",
        steps: [["button", "Unassign 1000001"]],
      },
      {
        file: "pages/users/factor_dialogs.tsx",
        name: /^Add a phone number for/,
        steps: [["button", "Add number"]],
      },
      {
        file: "pages/users/user_factors.tsx",
        name: /^Revoke Text message/,
        steps: [["button", /^Revoke Text/]],
      },
    ],
  },
  "user, backends": {
    place: "user",
    path: user("#backends"),
    heading: displayName,
    shows: () => "Compare the directory record with each connector.",
    nothing: { says: "The directory has no user with this name.", path: "/users/unknown#backends" },
    part: true,
    dialogs: [],
  },
  "user, timeline": {
    place: "user",
    path: user("#timeline"),
    heading: displayName,
    shows: () => "Created",
    nothing: { says: "No events yet.", path: "/users/unknown#timeline" },
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
        file: "pages/groups/groups_page.tsx",
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
    nothing: { says: "This object is not in the directory.", path: "/groups/unknown" },
    dialogs: [
      {
        file: "pages/groups/group_page.tsx",
        name: /^Delete the group/,
        steps: [["button", "Delete group"]],
      },
      {
        file: "pages/enrolment/invite_dialog.tsx",
        name: "Invite users",
        steps: [["button", "Invite members…"], PREVIEWED],
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
        file: "components/replies_dialog.tsx",
        name: `Reply attributes of ${FULL_CREW}`,
        steps: [["button", "Edit reply attributes"]],
      },
    ],
  },
  "devices": {
    place: "devices",
    path: () => "/devices",
    heading: () => "Authenticators",
    shows: () => FULL_OTHER,
    nothing: { says: "No second factors yet." },
    dialogs: [
      {
        file: "pages/devices/devices_page.tsx",
        name: /^Revoke Text message of/,
        steps: [["button", `Actions for Text message ${FULL_OTHER}`], ["menuitem", "Revoke"]],
      },
      {
        file: "pages/devices/devices_page.tsx",
        name: /^Revoke 1 /,
        steps: [["checkbox", `Select Text message ${FULL_OTHER}`], ["button", "Revoke"]],
        smallSteps: [["checkbox", `Select Text message ${FULL_OTHER}`], ...BAR, ["menuitem", "Revoke"]],
      },
    ],
  },
};

// The row of the page of hardware tokens.

export const TOKEN_ROWS: Readonly<Record<string, PageRow>> = {
  "tokens": {
    place: "tokens",
    path: () => "/tokens",
    heading: () => "Hardware tokens",
    shows: () => FULL_FREE_TOKEN,
    nothing: { says: "No hardware tokens" },
    dialogs: [
      {
        file: "pages/tokens/import_dialog.tsx",
        name: "Import hardware tokens",
        steps: [
          ["button", "Import tokens"],
          ["file", "Seed file", `T-7,${"31".repeat(20)}\nT-8,short\n${FULL_FREE_TOKEN},${"31".repeat(20)}\n`],
          ["see", "the seed cannot be read in this encoding"],
        ],
      },
      {
        file: "pages/tokens/token_dialogs.tsx",
        name: `Assign token ${FULL_FREE_TOKEN}`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Assign"]],
      },
      {
        file: "pages/tokens/token_dialogs.tsx",
        name: `Resynchronize token ${FULL_FREE_TOKEN}`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Resynchronize"]],
      },
      {
        file: "pages/tokens/token_dialogs.tsx",
        name: `Test a code of token ${FULL_FREE_TOKEN}`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Test a code"]],
      },
      {
        file: "pages/tokens/tokens_page.tsx",
        name: "Disable 1 token?",
        steps: [["checkbox", `Select ${FULL_FREE_TOKEN}`], ["button", "Disable"]],
        smallSteps: [
          ["checkbox", `Select ${FULL_FREE_TOKEN}`],
          ["button", "Actions for the selection"],
          ["menuitem", "Disable"],
        ],
      },
      {
        file: "pages/tokens/tokens_page.tsx",
        name: `Remove token ${FULL_FREE_TOKEN}?`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Remove"]],
      },
    ],
  },
};

// The rows of the pages about the enrolment: the report, and the campaigns.

const INVITE = "pages/enrolment/invite_dialog.tsx";
const DEADLINE = "pages/enrolment/deadline_dialog.tsx";
const INVITE_STEPS: readonly Step[] = [["button", "Invite…"], [
  "see",
  /users? gets? a mail|users? get a mail/,
]];

export const ENROLMENT_ROWS: Readonly<Record<string, PageRow>> = {
  "enrolment": {
    place: "enrolment",
    path: () => "/enrolment",
    heading: () => "Enrolment",
    shows: () => FULL_OTHER,
    nothing: { says: "No active users" },
    dialogs: [
      { file: INVITE, name: "Invite users", steps: INVITE_STEPS },
      {
        file: DEADLINE,
        name: "Change the deadline",
        steps: [["button", "Actions for iris"], ["menuitem", "Change deadline"]],
      },
    ],
  },
  "campaigns": {
    place: "campaigns",
    path: () => "/enrolment/campaigns",
    heading: () => "Campaigns",
    shows: () => "Group",
    nothing: { says: "No campaigns yet" },
    dialogs: [
      { file: INVITE, name: "Invite users", steps: INVITE_STEPS },
      { file: DEADLINE, name: "Change the deadline", steps: [["button", "Change deadline Group"]] },
      {
        file: "pages/enrolment/campaigns_page.tsx",
        name: /^(?:Cancel|Stop the reminders of) Group\?$/,
        steps: [["button", /^(?:Cancel campaign|Stop reminders) Group$/]],
      },
    ],
  },
};

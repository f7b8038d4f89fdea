// Every deed of the console's API as people meet it: on which page, under which name. What role it needs is not said here:
// that is the route table's knowledge.

/** A deed that a button of a page begins. */
export interface ButtonDeed {
  /** A row of PLACE_ROWS. */
  readonly page: string;
  readonly button: string;
}

/** A deed whose page is closed as a whole to those who may not do it. */
export interface ClosedDeed {
  readonly closes: string;
}

/** A deed that another one leads to, in the dialog or the form that it opens. */
export interface FollowingDeed {
  readonly follows: string;
}

/** A deed that none of the pages has a button for as they stand in this console, and why. */
export interface OtherDeed {
  readonly because: string;
}

export type RoleDeed = ButtonDeed | ClosedDeed | FollowingDeed | OtherDeed;

const OWN: OtherDeed = { because: "is about one's own session or factors, whatever the role" };
const button = (page: string, name: string): ButtonDeed => ({ page, button: name });
const follows = (route: string): FollowingDeed => ({ follows: route });
const closes = (page: string): ClosedDeed => ({ closes: page });

/** By method and path, as in the table of access. */
export const ROLE_DEEDS: Readonly<Record<string, RoleDeed>> = {
  "POST /session/stay": OWN,
  "POST /session/step-up": OWN,
  "POST /factors/totp": OWN,
  "POST /factors/totp/confirm": OWN,
  "DELETE /factors/totp": OWN,
  "POST /factors/recovery-codes": OWN,
  "POST /factors/passkeys/options": OWN,
  "POST /factors/passkeys": OWN,
  "DELETE /factors/passkeys/:id": OWN,
  "DELETE /sessions/:id": OWN,
  "POST /administrators": button("access", "Invite an administrator"),
  "PATCH /administrators/:id": button("access", "Change Grace"),
  "DELETE /administrators/:id": follows("PATCH /administrators/:id"),
  "POST /administrators/:id/link": follows("PATCH /administrators/:id"),
  "DELETE /administrators/:id/sessions": follows("PATCH /administrators/:id"),
  "DELETE /invitations/:id": button("access", "Change Invited"),
  "POST /tokens": closes("access, tokens"),
  "DELETE /tokens/:id": closes("access, tokens"),
  "PUT /first-steps/:name": {
    because:
      "nothing is left to do in this console; the walk of the first steps is looked at as a viewer by its own test",
  },
  "POST /approvals/:id/deny": button("live", "Deny the login of ada at vpn-1"),
  "POST /approvals/:id/cancel": button("live", "Cancel the login of ada at vpn-1"),
  "DELETE /notices/:id": { because: "no user reported a login here" },
  "POST /outbox/:id/reveal": button("live", "Reveal the message to +1****100"),
  "POST /users": button("users", "Create user"),
  "GET /export/users": button("users", "Export"),
  "POST /bulk": { because: "its bar comes with a selection, which only a user manager can make" },
  "POST /bulk/preview": follows("POST /bulk"),
  "POST /jobs/:id/stop": follows("POST /bulk"),
  "POST /jobs/:id/undo": follows("POST /bulk"),
  "PUT /users/:id": button("user", "Review changes"),
  "DELETE /users/:id": button("user", "Delete"),
  "PUT /users/:id/active": button("user", "Deactivate"),
  "PUT /users/:id/password": button("user", "Set password"),
  "POST /users/:id/me-link": button("user", "Self-service link"),
  "PUT /users/:id/groups": button("user, groups", "Take out staff"),
  "POST /users/:id/refresh": button("user, backends", "Read the backends again"),
  "POST /users/:id/retry": { because: "nothing is owed for this user" },
  "POST /users/:id/trial": button("user", "Try a login"),
  "POST /users/:id/invitation": button("user, factors", "Invite a phone"),
  "POST /users/:id/pairings": button("user, factors", "Add a number"),
  "DELETE /users/:id/pairings/:pairing": button("user, factors", "Revoke Text message +4*********678"),
  "PUT /users/:id/pairings/:pairing": { because: "only phones have names, and no user has a phone here" },
  "POST /users/:id/unconfirmed/:factor/keep": { because: "no phone was revoked here" },
  "DELETE /users/:id/unconfirmed/:factor": { because: "no phone was revoked here" },
  "POST /users/:id/totp": button("user, factors", "Add an authenticator app"),
  "POST /users/:id/totp/confirm": follows("POST /users/:id/totp"),
  "PUT /users/:id/preference": { because: "one factor leaves nothing to prefer" },
  "POST /users/:id/unlock": { because: "no user is locked here" },
  "POST /users/:id/reset-limits": { because: "no limit is reached here" },
  "POST /groups": button("groups", "Create group"),
  "GET /export/groups": button("groups", "Export"),
  "DELETE /groups/:id": button("group", "Delete group"),
  "PUT /groups/:id/members": button("group", "Take out bob"),
  "PUT /groups/:id/replies": button("group", "Edit reply attributes"),
  "DELETE /devices/:id": button("devices", "Revoke Text message bob"),
  "POST /imports": closes("import"),
  "POST /imports/rows": { because: "only `deno task import` uses it" },
  "POST /imports/:id/text": closes("import"),
  "POST /imports/:id/check": closes("import"),
  "PUT /imports/:id/rows/:line": closes("import"),
  "POST /imports/:id/apply": closes("import"),
  "DELETE /imports/:id": closes("import"),
  "POST /clients": button("clients", "Add a client"),
  "POST /clients/heard": follows("POST /clients"),
  "POST /clients/first-factor": follows("POST /clients"),
  "PUT /clients/:id": { because: "its form is text for those who may not change it" },
  "DELETE /clients/:id/signing": { because: "only `deno task client forget` uses it" },
  "DELETE /clients/:id": button("client", "Remove the client"),
  "POST /clients/:id/secret": button("client", "Rotate the secret"),
  "DELETE /clients/:id/overlap": { because: "no old secret overlaps here" },
  "POST /targets/:id/test": button("target", "Test ldap"),
  "POST /targets/:id/retry": { because: "there are no dead letters here" },
  "POST /targets/:id/refresh": button("target", "Refresh now"),
  "POST /targets/:id/preview": { because: "is a field that everybody may fill in, and changes nothing" },
  "POST /credentials": closes("credentials"),
  "DELETE /credentials/:id": closes("credentials"),
  "POST /health/test": button("health", "Test default / ldap"),
};

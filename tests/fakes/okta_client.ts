// An identity provider that behaves like Okta: the requests of its SCIM integrations, in their order and form.
// https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/

import { createScimCaller, idOf, type ProviderUser, type ScimCaller } from "./scim_caller.ts";

const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const PAGE = 100;
const HEADERS = {
  "accept": "application/scim+json",
  "accept-charset": "utf-8",
  "content-type": "application/scim+json; charset=utf-8",
  "user-agent": "Okta SCIM Client 1.0.0",
};

export interface OktaClientOptions {
  readonly baseUrl: string;
  /** The value of the Authorization header. */
  readonly authorization: () => string;
  /** Integrations of the catalogue change `active` with PATCH; those of the wizard send everything with PUT. */
  readonly deactivatesBy?: "PATCH" | "PUT";
}

export interface OktaClient extends Pick<ScimCaller, "requests"> {
  /** The button "Test API Credentials". */
  testCredentials(): Promise<void>;
  /** "Import now": every page of users. Returns their ids. */
  importUsers(): Promise<string[]>;
  /** Assigns a user: looks for the userName, then creates the user or takes over the one that was found. Returns the id. */
  assignUser(user: ProviderUser): Promise<string>;
  /** A profile change: reads the user, and replaces the whole. */
  updateUser(id: string, user: ProviderUser): Promise<void>;
  deactivateUser(id: string): Promise<void>;
  reactivateUser(id: string): Promise<void>;
  /** Group Push: creates the group, and sends its name once more. Returns the id. */
  pushGroup(displayName: string, memberIds: readonly string[]): Promise<string>;
  changeMembers(
    groupId: string,
    change: { add?: readonly string[]; remove?: readonly string[] },
  ): Promise<void>;
  /** "Push now": all members. */
  pushMembers(groupId: string, memberIds: readonly string[]): Promise<void>;
  renameGroup(groupId: string, displayName: string): Promise<void>;
  deleteGroup(groupId: string): Promise<void>;
}

export function createOktaClient(options: OktaClientOptions): OktaClient {
  const { deactivatesBy = "PATCH" } = options;
  const caller = createScimCaller({ ...options, headers: HEADERS });
  const patch = (path: string, operations: readonly unknown[]) =>
    caller.expect([200, 204], "PATCH", path, { schemas: [PATCH_OP], Operations: operations });
  const setActive = async (id: string, active: boolean) => {
    if (deactivatesBy === "PATCH") {
      return void await patch(`/Users/${id}`, [{ op: "replace", value: { active } }]);
    }
    const current = await caller.expect([200], "GET", `/Users/${id}`);
    await caller.expect([200], "PUT", `/Users/${id}`, { ...current, active });
  };
  return {
    requests: caller.requests,
    async testCredentials() {
      await caller.find("/Users", { startIndex: "1", count: "2" });
    },
    async importUsers() {
      const ids: string[] = [];
      for (let startIndex = 1;; startIndex += PAGE) {
        const page = await caller.find("/Users", { startIndex: String(startIndex), count: String(PAGE) });
        ids.push(...page.map(idOf));
        if (page.length < PAGE) return ids;
      }
    },
    async assignUser(user) {
      const query = { filter: `userName eq "${user.userName}"`, startIndex: "1", count: String(PAGE) };
      const [existing] = await caller.find("/Users", query);
      if (existing === undefined) {
        return idOf(await caller.expect([200, 201], "POST", "/Users", newUser(user)));
      }
      const id = idOf(existing);
      const current = await caller.expect([200], "GET", `/Users/${id}`);
      await caller.expect([200], "PUT", `/Users/${id}`, { ...current, ...profileOf(user), active: true });
      return id;
    },
    async updateUser(id, user) {
      const current = await caller.expect([200], "GET", `/Users/${id}`);
      await caller.expect([200], "PUT", `/Users/${id}`, { ...current, ...profileOf(user) });
    },
    deactivateUser: (id) => setActive(id, false),
    reactivateUser: (id) => setActive(id, true),
    async pushGroup(displayName, memberIds) {
      const body = { schemas: [GROUP], displayName, members: memberIds.map(memberOf) };
      const id = idOf(await caller.expect([201], "POST", "/Groups", body));
      await patch(`/Groups/${id}`, [{ op: "replace", value: { id, displayName } }]);
      return id;
    },
    async changeMembers(groupId, { add = [], remove = [] }) {
      await patch(`/Groups/${groupId}`, [
        ...remove.map((id) => ({ op: "remove", path: `members[value eq "${id}"]` })),
        ...(add.length === 0 ? [] : [{ op: "add", path: "members", value: add.map(memberOf) }]),
      ]);
    },
    async pushMembers(groupId, memberIds) {
      await patch(`/Groups/${groupId}`, [{ op: "replace", path: "members", value: memberIds.map(memberOf) }]);
    },
    async renameGroup(groupId, displayName) {
      await patch(`/Groups/${groupId}`, [{ op: "replace", value: { id: groupId, displayName } }]);
    },
    async deleteGroup(groupId) {
      await caller.expect([204], "DELETE", `/Groups/${groupId}`);
    },
  };
}

/** Without `type`. */
const memberOf = (id: string) => ({ value: id, display: id });

function profileOf({ key, userName, givenName, familyName, email, title }: ProviderUser) {
  return {
    userName,
    externalId: key,
    name: { givenName, familyName },
    displayName: `${givenName} ${familyName}`,
    emails: [{ primary: true, value: email, type: "work" }],
    ...(title === undefined ? {} : { title }),
  };
}

/** With the placeholder of a password, and an empty list of groups. */
function newUser(user: ProviderUser) {
  return {
    schemas: [USER],
    ...profileOf(user),
    locale: "en-US",
    groups: [],
    password: "1mz050nq",
    active: true,
  };
}

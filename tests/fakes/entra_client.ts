// An identity provider that behaves like Microsoft Entra ID: the requests of its provisioning service, in both dialects.
// https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
// https://learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility

import {
  createScimCaller,
  idOf,
  type ProviderUser,
  ProvisioningFault,
  type ScimCaller,
} from "./scim_caller.ts";

const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const ENTRA_GROUP = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group";
const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

export interface EntraClientOptions {
  /** The "Tenant URL". */
  readonly baseUrl: string;
  readonly authorization: () => string;
  /** `compliant`: with the feature flag aadOptscim062020. */
  readonly dialect?: "default" | "compliant";
}

export interface EntraClient extends Pick<ScimCaller, "requests"> {
  /** The button "Test Connection": users and groups that do not exist. */
  testConnection(): Promise<void>;
  /** Matches the user by userName, then creates or changes it. Returns the id. */
  provisionUser(user: ProviderUser): Promise<string>;
  disableUser(id: string): Promise<void>;
  enableUser(id: string): Promise<void>;
  /** 30 days after the user was deleted in the directory. */
  deleteUser(id: string): Promise<void>;
  setManager(id: string, managerId: string | null): Promise<void>;
  /** Matches the group by displayName, then creates it. Returns the id. */
  provisionGroup(group: { readonly key: string; readonly displayName: string }): Promise<string>;
  renameGroup(id: string, displayName: string): Promise<void>;
  addMember(groupId: string, userId: string): Promise<void>;
  removeMember(groupId: string, userId: string): Promise<void>;
  isMember(groupId: string, userId: string): Promise<boolean>;
  deleteGroup(id: string): Promise<void>;
}

export function createEntraClient({ dialect = "default", ...options }: EntraClientOptions): EntraClient {
  const isCompliant = dialect === "compliant";
  const headers = {
    "accept": "application/scim+json",
    "content-type": "application/scim+json; charset=utf-8",
  };
  const caller = createScimCaller({ ...options, headers });
  const op = (name: "Add" | "Replace" | "Remove") => isCompliant ? name.toLowerCase() : name;
  const boolean = (value: boolean) => isCompliant ? value : value ? "True" : "False";
  /** The flag is a part of the Tenant URL's query, so that every request has it. */
  const at = (path: string) =>
    !isCompliant ? path : `${path}${path.includes("?") ? "&" : "?"}aadOptscim062020`;
  const find = (path: string, query: Readonly<Record<string, string>>) =>
    caller.find(path, isCompliant ? { ...query, aadOptscim062020: "" } : query);
  const patch = (path: string, operations: readonly unknown[]) =>
    caller.expect([200, 204], "PATCH", at(path), { schemas: [PATCH_OP], Operations: operations });
  const setActive = (id: string, active: boolean) =>
    patch(`/Users/${id}`, [{ op: op("Replace"), path: "active", value: boolean(active) }]);
  const groupPath = (id: string) => `/Groups/${id}?excludedAttributes=members`;
  const changeUser = (id: string, user: ProviderUser) =>
    patch(`/Users/${id}`, isCompliant ? compliantChange(user) : separateChanges(user));
  return {
    requests: caller.requests,
    async testConnection() {
      const filter = (name: string) => ({ filter: `${name} eq "${crypto.randomUUID()}"` });
      const users = await find("/Users", filter("userName"));
      const groups = await find("/Groups", { excludedAttributes: "members", ...filter("displayName") });
      if (users.length + groups.length > 0) {
        throw new ProvisioningFault(200, undefined, "A filter that matches nothing found resources");
      }
    },
    async provisionUser(user) {
      const [match] = await find("/Users", { filter: `userName eq "${user.userName}"` });
      if (match === undefined) {
        return idOf(await caller.expect([201, 200], "POST", at("/Users"), newUser(user)));
      }
      await changeUser(idOf(match), user);
      return idOf(match);
    },
    disableUser: async (id) => void await setActive(id, false),
    enableUser: async (id) => void await setActive(id, true),
    deleteUser: async (id) => void await caller.expect([204, 404], "DELETE", at(`/Users/${id}`)),
    async setManager(id, managerId) {
      const path = `${ENTERPRISE}:manager`;
      await patch(`/Users/${id}`, [
        managerId === null ? { op: op("Remove"), path } : { op: op("Add"), path, value: managerId },
      ]);
    },
    async provisionGroup({ key, displayName }) {
      const filter = `displayName eq "${displayName}"`;
      const [match] = await find("/Groups", { excludedAttributes: "members", filter });
      const id = idOf(match ?? await caller.expect([201], "POST", at("/Groups"), newGroup(key, displayName)));
      await caller.expect([200], "GET", at(groupPath(id)));
      return id;
    },
    async renameGroup(id, displayName) {
      await patch(`/Groups/${id}`, [{ op: op("Replace"), path: "displayName", value: displayName }]);
    },
    async addMember(groupId, userId) {
      const value = [{ $ref: null, value: userId }];
      await patch(`/Groups/${groupId}`, [{ op: op("Add"), path: "members", value }]);
    },
    async removeMember(groupId, userId) {
      await patch(`/Groups/${groupId}`, [
        isCompliant
          ? { op: "remove", path: `members[value eq "${userId}"]` }
          : { op: "Remove", path: "members", value: [{ $ref: null, value: userId }] },
      ]);
    },
    async isMember(groupId, userId) {
      const filter = `id eq "${groupId}" and members eq "${userId}"`;
      return (await find("/Groups", { excludedAttributes: "members", filter })).length === 1;
    },
    deleteGroup: async (id) => void await caller.expect([204, 404], "DELETE", at(`/Groups/${id}`)),
  };
}

function newGroup(key: string, displayName: string) {
  const meta = { resourceType: "Group" };
  return { schemas: [GROUP, ENTRA_GROUP], externalId: key, displayName, meta, roles: [] };
}

function newUser({ key, userName, givenName, familyName, email, title, department }: ProviderUser) {
  return {
    schemas: [USER, ENTERPRISE],
    externalId: key,
    userName,
    active: true,
    displayName: `${givenName} ${familyName}`,
    emails: [{ primary: true, type: "work", value: email }],
    meta: { resourceType: "User" },
    name: { formatted: `${givenName} ${familyName}`, familyName, givenName },
    roles: [],
    ...(title === undefined ? {} : { title }),
    ...(department === undefined ? {} : { [ENTERPRISE]: { department } }),
  };
}

/** One operation for each attribute, with a filter for the address. */
function separateChanges({ givenName, familyName, email, title, department }: ProviderUser) {
  const values: Readonly<Record<string, string | undefined>> = {
    displayName: `${givenName} ${familyName}`,
    'emails[type eq "work"].value': email,
    "name.givenName": givenName,
    "name.familyName": familyName,
    title,
    [`${ENTERPRISE}:department`]: department,
  };
  return Object.entries(values).flatMap(([path, value]) =>
    value === undefined ? [] : [{ op: "Replace", path, value }]
  );
}

/** One operation without a path, whose names are paths, and one for the address. */
function compliantChange({ givenName, familyName, email, title, department }: ProviderUser) {
  return [
    { op: "replace", path: 'emails[type eq "work"].value', value: email },
    {
      op: "replace",
      value: {
        displayName: `${givenName} ${familyName}`,
        "name.givenName": givenName,
        "name.familyName": familyName,
        ...(title === undefined ? {} : { title }),
        ...(department === undefined ? {} : { [`${ENTERPRISE}:department`]: department }),
      },
    },
  ];
}

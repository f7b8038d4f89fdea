// A SCIM target in memory: records the calls of the HTTP handlers and returns configured answers.

import { canonicalName } from "../../platform/canonical_name.ts";
import { ScimRefusal } from "../../scim/http/refusals.ts";
import { DEFAULT_GROUP_MAPPING, DEFAULT_USER_MAPPING } from "../../scim/schema/mapping.ts";
import type {
  BackendInfo,
  PageOptions,
  SearchOutcome,
  Target,
  TargetDirectory,
  Targets,
  WriteOptions,
  Written,
} from "../../scim/ports.ts";
import { RenderedUsers } from "../../scim/directory/rendered_users.ts";
import type { RefreshReport } from "../../scim/backend_port.ts";
import type { Content, ResourceKind, Stored } from "../../scim/schema/resource.ts";

/** A call that reached the target. */
export interface TargetCall {
  readonly verb: "create" | "replace" | "remove" | "refreshOne" | "refreshAll" | "search" | "page";
  readonly name?: string;
  readonly options?: Omit<WriteOptions, "actor"> & Partial<Pick<WriteOptions, "actor">>;
  readonly q?: string;
  readonly page?: PageOptions;
}

export interface FakeTarget extends Target {
  readonly calls: TargetCall[];
  /** Thrown by the next operation of any kind. */
  failNext(fault: unknown): void;
  /** The result of searches from now on. */
  searches(outcome: SearchOutcome | null): void;
  /** The result of a refresh of everything; a promise that never resolves is a refresh that takes long. */
  refreshes(report: Promise<RefreshReport>): void;
  put(content: Content): Stored;
}

export const REPORT: RefreshReport = {
  created: 0,
  updated: 0,
  unchanged: 0,
  vanished: 0,
  deleted: 0,
  ofGroups: { created: 0, updated: 0, unchanged: 0, vanished: 0, deleted: 0 },
  faults: [],
  tookMs: 1,
};
const BACKENDS: readonly BackendInfo[] = [
  { name: "local", kind: "store", mode: "sync" },
  { name: "directory", kind: "ldap", mode: "async" },
];
const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A user with only a name. */
export function userContent(name: string, attributes: Content["attributes"] = {}): Content {
  return {
    kind: "user",
    name,
    active: true,
    attributes: { name: { familyName: "", givenName: "" }, ...attributes },
  };
}

const receiptOf = ({ backends }: WriteOptions): Written["receipt"] => ({
  entries: BACKENDS.filter((one) => backends === undefined || backends.includes(one.name)).map((one) => ({
    backend: one.name,
    outcome: one.mode === "sync" ? "done" : "queued",
  })),
});

const paged = (all: readonly Stored[], { page, size }: PageOptions) => ({
  total: all.length,
  startIndex: (page - 1) * size + 1,
  resources: all.slice((page - 1) * size, page * size),
});
const unused = (): never => {
  throw new Error("the HTTP side does not ask for that");
};

interface FakeDirectoryParts {
  readonly name: string;
  readonly stores: Readonly<Record<ResourceKind, ReadonlyMap<string, Stored>>>;
  readonly calls: TargetCall[];
  /** The result of a search, instead of the names that begin with its words. */
  readonly found: () => SearchOutcome | null;
}

function createFakeDirectory({ name, stores, calls, found }: FakeDirectoryParts): TargetDirectory {
  const indexes = {
    count: unused,
    list: unused,
    manyValued: unused,
    readMany: unused,
    groupsOf: unused,
  };
  return {
    target: name,
    indexes,
    render(renderer) {
      const users = new RenderedUsers({ directory: this, maxOctets: 0, isRenaming: () => false });
      return users.render(renderer);
    },
    trash: { days: 30, maxEntries: 0, list: unused, read: unused, removal: unused },
    read: (kind, canonical) => Promise.resolve(stores[kind].get(canonical) ?? null),
    page(kind, options) {
      calls.push({ verb: "page", page: options });
      return Promise.resolve(paged([...stores[kind].values()], options));
    },
    search(kind, q, options) {
      calls.push({ verb: "search", q, page: options });
      const matches = [...stores[kind].values()].filter(({ content }) => content.name.startsWith(q));
      return Promise.resolve(found() ?? { ok: true, page: paged(matches, options) });
    },
    count: (kind) => stores[kind].size,
    readPassword: unused,
    readTraces: unused,
    all: unused,
    readById: unused,
    readHeadById: unused,
    readIds: unused,
    isSettled: unused,
    write: unused,
    rename: unused,
    renamedTo: unused,
    writePlanned: unused,
    writeMany: unused,
    changeMembers: unused,
    login: unused,
    prepareLogin: unused,
    observe: unused,
  };
}

export function createFakeTarget(
  { name = "default", pageSize = 100 }: { name?: string; pageSize?: number } = {},
): FakeTarget {
  const stores: Record<ResourceKind, Map<string, Stored>> = { user: new Map(), group: new Map() };
  const calls: TargetCall[] = [];
  let writes = 0;
  let fault: unknown = null;
  let found: SearchOutcome | null = null;
  let report: Promise<RefreshReport> = Promise.resolve(REPORT);

  const note = (call: TargetCall): void => {
    calls.push(call);
    const thrown = fault;
    fault = null;
    if (thrown !== null) throw thrown;
  };
  const put = (content: Content): Stored => {
    writes += 1;
    const stored: Stored = {
      ...{ id: `id of ${content.name}`, content },
      groups: [],
      backends: {},
      createdMs: AT_MS,
      modifiedMs: AT_MS + writes,
      version: `v${writes}`,
    };
    stores[content.kind].set(canonicalName(content.name), stored);
    return stored;
  };
  const existing = (kind: ResourceKind, wanted: string, { ifVersion }: WriteOptions): Stored => {
    const stored = stores[kind].get(canonicalName(wanted));
    if (stored === undefined) throw new ScimRefusal("not_found");
    if (ifVersion !== undefined && ifVersion !== stored.version) throw new ScimRefusal("precondition");
    return stored;
  };
  const directory = createFakeDirectory({ name, stores, calls, found: () => found });

  return {
    name,
    pageSize,
    backends: BACKENDS,
    mapping: { user: DEFAULT_USER_MAPPING, group: DEFAULT_GROUP_MAPPING },
    directory,
    ...{ calls, put },
    failNext: (thrown) => void (fault = thrown),
    searches: (outcome) => void (found = outcome),
    refreshes: (next) => void (report = next),
    create: async (content, options) => {
      note({ verb: "create", name: content.name, options });
      if (stores[content.kind].has(canonicalName(content.name))) throw new ScimRefusal("taken");
      return await Promise.resolve({ stored: put(content), receipt: receiptOf(options) });
    },
    replace: async (content, options) => {
      note({ verb: "replace", name: content.name, options });
      existing(content.kind, content.name, options);
      return await Promise.resolve({ stored: put(content), receipt: receiptOf(options) });
    },
    rename: unused,
    remove: async (kind, wanted, options) => {
      note({ verb: "remove", name: wanted, options });
      existing(kind, wanted, options);
      stores[kind].delete(canonicalName(wanted));
      return await Promise.resolve({ stored: null, receipt: receiptOf(options) });
    },
    changeMembers: unused,
    restoreUser: unused,
    purgeUser: unused,
    refreshOne: async (kind, wanted) => {
      note({ verb: "refreshOne", name: wanted });
      return await Promise.resolve(stores[kind].get(canonicalName(wanted)) ?? null);
    },
    refreshAll: async () => {
      note({ verb: "refreshAll" });
      return await report;
    },
    pendingWrites: () => [],
    heldElsewhere: () => Promise.resolve(new Map()),
    retryDeadLetters: () => Promise.resolve(0),
  };
}

/** All existing targets. */
export function targetsOf(...targets: readonly Target[]): Targets {
  return {
    get: (name) => targets.find((target) => target.name === name) ?? null,
    names: targets.map(({ name }) => name),
    close: () => Promise.resolve(),
  };
}

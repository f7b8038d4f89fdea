// References between resources at a SCIM server: the manager, and ids in extensions. Here they have the ids of this directory, there those of the
// server. A reference to a resource that the server lacks is left out, and follows when the server has it.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import type {
  Backend,
  BackendOutcome,
  DesiredResource,
  PutResult,
  Reference,
  RemoteResource,
} from "../backend_port.ts";
import { isJsonArray, isJsonObject, isUuid, property } from "../schema/attributes.ts";
import { ENTERPRISE_SCHEMA } from "../schema/attribute_table.ts";
import { parseName } from "../schema/resource_name.ts";
import type { Content, JsonObject, JsonValue, ResourceKind } from "../schema/resource.ts";
import { hasResource } from "./backend_status.ts";
import type { TargetParts } from "./plan.ts";

/** A resource that waits for another one at a backend. */
interface AwaitedEntry {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The attributes with the reference, as in `ContentChanges`. */
  readonly attributes: readonly string[];
}

interface FoundReference extends Reference {
  /** The value in the content. */
  readonly value: string;
  /** The attribute that has it. */
  readonly path: string;
}

type ReferencesParts = Pick<TargetParts, "store" | "directory" | "outbox" | "locks" | "log" | "target">;

const MANAGER = `${ENTERPRISE_SCHEMA}:manager`;

export class References {
  readonly #deps: ReferencesParts;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: ReferencesParts) {
    this.#deps = deps;
  }

  /** A backend whose contents have the ids of this directory. */
  translate(inner: Backend): Backend {
    const { rename } = inner;
    const write = async (
      desired: DesiredResource,
      put: (translated: DesiredResource) => Promise<BackendOutcome<PutResult>>,
    ): Promise<BackendOutcome<PutResult>> => {
      const found = await this.#find(desired.content);
      const references = new Map(found.map(({ value, kind, name }) => [value, { kind, name }]));
      const outcome = await put({ ...desired, references });
      if (outcome.ok) {
        await this.#noteWritten(inner.name, { content: desired.content, found, put: outcome.value });
      }
      return outcome;
    };
    return {
      ...inner,
      read: async (kind, name, hint) => {
        const read = await inner.read(kind, name, hint);
        return read.ok && read.value !== null ? { ok: true, value: await this.#here(read.value) } : read;
      },
      put: (desired, hint) => write(desired, (translated) => inner.put(translated, hint)),
      ...(rename === undefined ? {} : {
        rename: (from, desired, hint) =>
          write(desired, (translated) => rename.call(inner, from, translated, hint)),
      }),
      list: (kind) => this.#listed(inner.list(kind)),
    };
  }

  /** Sends the references whose resources the backends have by now. */
  async sweep(): Promise<void> {
    const { store, directory, target } = this.#deps;
    for await (const { key } of store.list(["awaited", target])) {
      const [, , backend, kind, name] = key.map(String);
      if (backend === undefined || name === undefined || (kind !== "user" && kind !== "group")) continue;
      const stored = await directory.read(kind, name);
      if (stored?.backends[backend]?.state === "present") await this.#release(key, backend);
    }
  }

  /** Waits for what is being sent. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  async *#listed(pages: ReturnType<Backend["list"]>): AsyncGenerator<readonly RemoteResource[]> {
    for await (const page of pages) {
      const here: RemoteResource[] = [];
      for (const remote of page) here.push(await this.#here(remote));
      yield here;
    }
  }

  /** The manager with the id here. One that is unknown here is no statement. */
  async #here(remote: RemoteResource): Promise<RemoteResource> {
    if (remote.manager === undefined) return remote;
    const { manager, ...rest } = remote;
    const boss = await this.#deps.directory.read("user", canonicalName(manager.name));
    return boss === null ? rest : { ...rest, manager: { name: boss.content.name, id: boss.id } };
  }

  async #find(content: Content): Promise<FoundReference[]> {
    const found: FoundReference[] = [];
    for (const { value, path } of candidates(content)) {
      const known = await this.#resolve(value, path === MANAGER);
      if (known !== null) found.push({ value, path, ...known });
    }
    return found;
  }

  /** @param isManager the specified interface also takes the name of a user as the id. */
  async #resolve(value: string, isManager: boolean): Promise<Reference | null> {
    const { directory } = this.#deps;
    if (isUuid(value)) {
      for (const kind of ["user", "group"] as const) {
        const stored = await directory.readHeadById(kind, value.toLowerCase()).catch(() => null);
        if (stored !== null) return { kind, name: stored.content.name };
      }
    }
    if (!isManager || !parseName(value).ok) return null;
    const named = await directory.read("user", canonicalName(value));
    // The user of that name may be created later. An id that is unknown here belongs to no user.
    return named === null && isUuid(value) ? null : { kind: "user", name: named?.content.name ?? value };
  }

  /** Records what was left out, and sends what waited for this resource. */
  async #noteWritten(
    backend: string,
    { content, found, put: { awaited = [] } }: {
      content: Content;
      found: readonly FoundReference[];
      put: PutResult;
    },
  ): Promise<void> {
    const { store, target } = this.#deps;
    const { kind, name } = content;
    const mutations = awaited.map((one): Mutation => ({
      type: "set",
      key: [...this.#prefix(backend, one), kind, canonicalName(name)],
      // A member is in no attribute: each write of a group sends the members that the server lacks.
      value: { kind, name, attributes: pathsTo(found, one) } satisfies AwaitedEntry,
    }));
    if (mutations.length > 0) await store.commit({ mutations });
    for await (const { key } of store.list(this.#prefix(backend, content))) {
      const work = this.#release(key, backend).catch((fault: unknown) => {
        this.#deps.log.warn("a reference was not sent to a backend", {
          target,
          backend,
          fault: String(fault),
        });
      }).finally(() => this.#running.delete(work));
      this.#running.add(work);
    }
  }

  #prefix(backend: string, { kind, name }: Reference): Deno.KvKey {
    return ["awaited", this.#deps.target, backend, kind, canonicalName(name)];
  }

  /** Queues the resource that waited. */
  async #release(key: Deno.KvKey, backend: string): Promise<void> {
    const { store, directory, outbox, locks } = this.#deps;
    const { value: entry } = await store.get<AwaitedEntry>(key);
    if (entry === null) return;
    const { kind, name, attributes } = entry;
    await locks.write([{ kind, name }], async () => {
      const stored = await directory.read(kind, canonicalName(name));
      const state = stored?.backends[backend];
      if (stored === null || !hasResource(state) || state?.differs === true) {
        return void await store.commit({ mutations: [{ type: "delete", key }] });
      }
      const known = await outbox.find(backend, kind, name);
      const change = outbox.add({
        ...{ backend, kind, name: stored.content.name, operation: "put", remoteId: state?.remoteId },
        changes: { attributes, left: [] },
      }, known);
      await store.commit({ mutations: [...change.mutations, { type: "delete", key }] });
      change.committed();
    });
  }
}

function pathsTo(found: readonly FoundReference[], { kind, name }: Reference): string[] {
  return [...new Set(found.filter((one) => one.kind === kind && one.name === name).map(({ path }) => path))];
}

/** The values of a content that may be references: the manager, and the ids in extensions. */
function candidates({ attributes }: Content): { value: string; path: string }[] {
  const enterprise = property(attributes, ENTERPRISE_SCHEMA);
  const managers = [
    property(attributes, "manager"),
    isJsonObject(enterprise) ? property(enterprise, "manager") : undefined,
  ];
  const found = managers.flatMap((manager) => managerIds(manager).map((value) => ({ value, path: MANAGER })));
  for (const [urn, extension] of Object.entries(attributes)) {
    if (!urn.startsWith("urn:") || !isJsonObject(extension)) continue;
    for (const [name, value] of Object.entries(extension)) {
      const path = `${urn}:${name}`;
      if (path !== MANAGER) found.push(...idsIn(value).map((id) => ({ value: id, path })));
    }
  }
  return found;
}

function managerIds(manager: JsonValue | undefined): string[] {
  if (typeof manager === "string") return [manager];
  if (!isJsonObject(manager)) return [];
  const { value, $ref }: JsonObject = manager;
  return [value, typeof $ref === "string" ? $ref.split("/").at(-1) : undefined]
    .filter((one) => typeof one === "string" && one !== "").map(String);
}

function idsIn(value: JsonValue): string[] {
  if (typeof value === "string") {
    const last = value.slice(value.lastIndexOf("/") + 1);
    return isUuid(last) ? [last] : [];
  }
  if (isJsonArray(value)) return value.flatMap(idsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(idsIn) : [];
}

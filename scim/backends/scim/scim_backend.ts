// A target's users and groups on another SCIM 2.0 server (RFC 7644).

import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type {
  Backend,
  BackendOutcome,
  DesiredResource,
  PutResult,
  RemoteHint,
  RemoteResource,
} from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { type ReadOnlyAttributes, toReadOnlyAttributes } from "../../schema/merge.ts";
import { BackendListError, toBackendFault, toBackendOutcome } from "../backend_error.ts";
import {
  isCountersignUrl,
  type ReceivedResource,
  RFC7643_COVERS,
  withMemberNames,
} from "./scim_resources.ts";
import { createScimHttp, ScimClient, type ScimHttp } from "./scim_client.ts";
import { createScimIdCache, managerName, resolveMemberNames, type ScimIdCache } from "./scim_members.ts";
import { putResource, removeResource, type ScimWriter } from "./scim_writes.ts";

/** The deadline for a group grows by one timeout for this many members, because each member may need a look-up. */
const MEMBERS_PER_TIMEOUT = 100;
const MAX_SHARES = 100;

interface ScimBackendDeps {
  readonly settings: ScimBackendSettings;
  readonly mapping: Mapping;
  /** Must not keep connections alive, because the platform may repeat a POST over a kept connection. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sends no request before the first call. */
export function createScimBackend(deps: ScimBackendDeps): Backend {
  return new ScimBackend(deps);
}

class ScimBackend implements Backend {
  readonly kind = "scim";
  readonly name: string;
  readonly mode: Backend["mode"];
  readonly covers: Backend["covers"];
  readonly readOnly: ReadOnlyAttributes;
  readonly holds: Backend["holds"];
  readonly #deps: ScimBackendDeps;
  readonly #http: ScimHttp;
  readonly #service: ScimClient;
  readonly #ids: ScimIdCache;
  readonly #writer: ScimWriter;

  constructor(deps: ScimBackendDeps) {
    const { settings, mapping, fetch, clock } = deps;
    this.#deps = deps;
    this.name = settings.name;
    this.mode = settings.mode;
    this.covers = isCountersignUrl(settings.url) ? null : RFC7643_COVERS;
    this.readOnly = toReadOnlyAttributes(settings.readOnly ?? []);
    const http = this.#http = createScimHttp({ settings, fetch, clock });
    const secrets = [settings.token, settings.password];
    const service = this.#service = new ScimClient({ http, clock, mapping, url: settings.url, secrets });
    this.#ids = createScimIdCache(clock);
    this.#writer = { service, ids: this.#ids, mapping, readOnly: this.readOnly, url: settings.url };
    this.holds = {
      // Known only after a request.
      get groups() {
        return service.hasGroups;
      },
      active: true,
    };
  }

  read(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<RemoteResource | null>> {
    return this.#operate(async () => {
      const deadlineMs = this.#deadlineFor();
      const found = await this.#service.find({ kind, name, id: hint?.remoteId, deadlineMs });
      return found === null ? null : await this.#remoteOf(found, kind);
    });
  }

  put(desired: DesiredResource, hint?: RemoteHint): Promise<BackendOutcome<PutResult>> {
    const deadlineMs = this.#deadlineFor(memberCount(desired));
    const { remoteId: id } = hint ?? {};
    return this.#operate(() => putResource(desired, { writer: this.#writer, id, deadlineMs }));
  }

  /** A server with the interface specification of Countersign identifies resources by their names, and refuses another one. */
  get rename(): Backend["rename"] {
    if (isCountersignUrl(this.#deps.settings.url)) return undefined;
    return (from, desired, hint) => {
      const deadlineMs = this.#deadlineFor(memberCount(desired));
      const { remoteId: id } = hint ?? {};
      return this.#operate(() => putResource(desired, { writer: this.#writer, from, id, deadlineMs }));
    };
  }

  remove(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<null>> {
    return this.#operate(async () => {
      const deadlineMs = this.#deadlineFor();
      await removeResource({ kind, name, id: hint?.remoteId, deadlineMs }, this.#writer);
      return null;
    });
  }

  async *list(kind: ResourceKind): AsyncGenerator<readonly RemoteResource[]> {
    try {
      yield* this.#listAll(kind);
    } catch (thrown) {
      throw new BackendListError(toBackendFault(thrown, this.#onBug));
    }
  }

  size(kind: ResourceKind): Promise<BackendOutcome<number | null>> {
    return this.#operate(() => this.#service.size(kind, this.#deadlineFor()));
  }

  showsMembers(): Promise<BackendOutcome<boolean>> {
    return this.#operate(() => this.#service.showsMembers(() => this.#deadlineFor()));
  }

  probe(): Promise<BackendOutcome<null>> {
    return this.#operate(async () => {
      const path = "/Users?count=1&startIndex=1";
      await this.#service.send({ method: "GET", path, deadlineMs: this.#deadlineFor() });
      return null;
    });
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #deadlineFor(members = 0): number {
    const shares = Math.min(MAX_SHARES, 1 + Math.ceil(members / MEMBERS_PER_TIMEOUT));
    return this.#deps.clock.nowMs() + this.#deps.settings.timeoutMs * shares;
  }

  #operate<T>(task: () => Promise<T>): Promise<BackendOutcome<T>> {
    return toBackendOutcome(task, this.#onBug);
  }

  #onBug = (bug: unknown): void => {
    this.#deps.log.error("unexpected error in the SCIM backend", {
      backend: this.name,
      error: bug instanceof Error ? bug.name : typeof bug,
    });
  };

  async #remoteOf(received: ReceivedResource, kind: ResourceKind): Promise<RemoteResource> {
    const { id, content, members } = received;
    const [service, ids] = [this.#service, this.#ids];
    if (kind === "user") ids.remember(content.name, id);
    const deadlineMs = this.#deadlineFor(members.length);
    const { dialect } = await service.capabilities(deadlineMs);
    const lookup = { service, ids, dialect, deadlineMs };
    if (kind === "user") {
      const manager = await managerName(received.raw, lookup);
      return { content, remoteId: id, ...manager === null ? {} : { manager: { name: manager } } };
    }
    const names = await resolveMemberNames(received, lookup);
    return { content: withMemberNames(content, names), remoteId: id };
  }

  async *#listAll(kind: ResourceKind): AsyncGenerator<readonly RemoteResource[]> {
    const unreadableBefore = this.#service.unreadable;
    for await (const page of this.#service.pages(kind, () => this.#deadlineFor())) {
      const remotes: RemoteResource[] = [];
      for (const received of page) remotes.push(await this.#remoteOf(received, kind));
      if (remotes.length > 0) yield remotes;
    }
    const count = this.#service.unreadable - unreadableBefore;
    if (count > 0) {
      this.#deps.log.warn("SCIM resources left out: they are not valid here", {
        backend: this.name,
        kind,
        count,
      });
    }
  }
}

/** Each member may need a look-up. */
function memberCount({ content, changes }: DesiredResource): number {
  return content.kind === "group" ? content.members.length + (changes?.left.length ?? 0) : 0;
}

// A target's users and groups on another SCIM 2.0 server (RFC 7644).

import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Backend, BackendOutcome, Desired, PutResult, Remote, RemoteHint } from "../../backend_port.ts";
import type { Content, Mapping, ResourceKind } from "../../schema/resource.ts";
import { type Kept, keptAttributes } from "../../schema/read_only_attributes.ts";
import { BackendListFault } from "../list_error.ts";
import { isCountersignUrl } from "./scim_dialects.ts";
import { createScimHttp, type ScimHttp } from "./scim_http.ts";
import { createScimIds, type ScimIds } from "./scim_ids.ts";
import { namesOf } from "./scim_members.ts";
import { type ReceivedResource, RFC_COVERS, withMembers } from "./scim_resources.ts";
import { createScimService, type ScimService } from "./scim_client.ts";
import { putResource, removeResource, type ScimWriter } from "./scim_writes.ts";
import { faultOf, outcomeOf } from "../backend_error.ts";

/** So many members, each of which may have to be looked up, may take as long again. */
const MEMBERS_A_TIMEOUT = 100;
const MAX_SHARES = 100;

export interface ScimBackendDeps {
  readonly settings: ScimBackendSettings;
  readonly mapping: Mapping;
  /** Opens no connection that is kept: over a kept one the platform may send a POST twice. */
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
  readonly keeps: Kept;
  readonly holds: Backend["holds"];
  readonly #deps: ScimBackendDeps;
  readonly #http: ScimHttp;
  readonly #service: ScimService;
  readonly #ids: ScimIds;
  readonly #writer: ScimWriter;

  constructor(deps: ScimBackendDeps) {
    const { settings, mapping, fetch, clock } = deps;
    this.#deps = deps;
    this.name = settings.name;
    this.mode = settings.mode;
    this.covers = isCountersignUrl(settings.url) ? null : RFC_COVERS;
    this.keeps = keptAttributes(settings.readOnly ?? []);
    const http = this.#http = createScimHttp({ settings, fetch, clock });
    const secrets = [settings.token, settings.password];
    const service = this.#service = createScimService({ http, clock, mapping, url: settings.url, secrets });
    this.#ids = createScimIds(clock);
    this.#writer = { service, ids: this.#ids, mapping, keeps: this.keeps };
    this.holds = {
      // Known only when the server was asked for some.
      get groups() {
        return service.hasGroups();
      },
      active: true,
    };
  }

  read(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<Remote | null>> {
    return this.#operate(async () => {
      const deadlineMs = this.#deadlineFor();
      const found = await this.#service.find({ kind, name, id: hint?.remoteId, deadlineMs });
      return found === null ? null : await this.#remoteOf(found, kind);
    });
  }

  put(desired: Desired, hint?: RemoteHint): Promise<BackendOutcome<PutResult>> {
    const deadlineMs = this.#deadlineFor(memberCount(desired.content));
    const { remoteId: id } = hint ?? {};
    return this.#operate(() => putResource(desired, { writer: this.#writer, id, deadlineMs }));
  }

  remove(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<null>> {
    return this.#operate(async () => {
      const deadlineMs = this.#deadlineFor();
      await removeResource({ kind, name, id: hint?.remoteId, deadlineMs }, this.#writer);
      return null;
    });
  }

  async *list(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    try {
      yield* this.#listAll(kind);
    } catch (thrown) {
      throw new BackendListFault(faultOf(thrown, this.#onBug));
    }
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
    const shares = Math.min(MAX_SHARES, 1 + Math.ceil(members / MEMBERS_A_TIMEOUT));
    return this.#deps.clock.nowMs() + this.#deps.settings.timeoutMs * shares;
  }

  #operate<T>(task: () => Promise<T>): Promise<BackendOutcome<T>> {
    return outcomeOf(task, this.#onBug);
  }

  #onBug = (bug: unknown): void => {
    this.#deps.log.error("scim backend failed unforeseen", {
      backend: this.name,
      error: bug instanceof Error ? bug.name : typeof bug,
    });
  };

  async #remoteOf(received: ReceivedResource, kind: ResourceKind): Promise<Remote> {
    const { id, content, members } = received;
    const [service, ids] = [this.#service, this.#ids];
    if (kind === "user") {
      ids.remember(content.name, id);
      return { content, remoteId: id };
    }
    const deadlineMs = this.#deadlineFor(members.length);
    const { dialect } = await service.abilities(deadlineMs);
    const names = await namesOf(received, { service, ids, dialect, deadlineMs });
    return { content: withMembers(content, names), remoteId: id };
  }

  async *#listAll(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    const unreadableBefore = this.#service.unreadable();
    for await (const page of this.#service.pages(kind, () => this.#deadlineFor())) {
      const remotes: Remote[] = [];
      for (const received of page) remotes.push(await this.#remoteOf(received, kind));
      if (remotes.length > 0) yield remotes;
    }
    const count = this.#service.unreadable() - unreadableBefore;
    if (count > 0) {
      this.#deps.log.warn("scim resources left out: they cannot be read here", {
        backend: this.name,
        kind,
        count,
      });
    }
  }
}

function memberCount(content: Content): number {
  return content.kind === "group" ? content.members.length : 0;
}

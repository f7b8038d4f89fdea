// A target's users and groups on another SCIM 2.0 server (RFC 7644).

import type { ScimBackendSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import type { Fetch } from "../../platform/fetch_with_deadline.ts";
import type { Clock, Random } from "../../runtime.ts";
import type { Backend, BackendOutcome, Remote } from "../backend_port.ts";
import type { Content, Mapping, ResourceKind } from "../resource.ts";
import { keptAttributes } from "../pure/kept.ts";
import { BackendListFault } from "./list_fault.ts";
import { isCountersignUrl } from "./scim_dialects.ts";
import { createScimHttp } from "./scim_http.ts";
import { createScimIds } from "./scim_ids.ts";
import { namesOf } from "./scim_members.ts";
import { type ReceivedResource, RFC_COVERS, withMembers } from "./scim_resources.ts";
import { createScimService } from "./scim_service.ts";
import { putResource, removeResource, type ScimWriter } from "./scim_writes.ts";
import { faultOf, outcomeOf } from "./trouble.ts";

/** So many members, each of which may have to be looked up, may take as long again. */
const MEMBERS_A_TIMEOUT = 100;
const MAX_SHARES = 100;

export interface ScimBackendDeps {
  readonly settings: ScimBackendSettings;
  readonly mapping: Mapping;
  /** Opens no connection that is kept: over a kept one the platform may send a POST twice. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Sends no request before the first call. */
export function createScimBackend(deps: ScimBackendDeps): Backend {
  const { settings, mapping, clock, log } = deps;
  const http = createScimHttp({ settings, fetch: deps.fetch, clock });
  const secrets = [settings.token, settings.password];
  const service = createScimService({ http, clock, mapping, url: settings.url, secrets });
  const ids = createScimIds(clock);
  const keeps = keptAttributes(settings.readOnly ?? []);
  const writer: ScimWriter = { service, ids, mapping, keeps };

  const onBug = (bug: unknown): void => {
    log.error("scim backend failed unforeseen", {
      backend: settings.name,
      error: bug instanceof Error ? bug.name : typeof bug,
    });
  };

  const deadlineFor = (members = 0): number =>
    clock.nowMs() + settings.timeoutMs * Math.min(MAX_SHARES, 1 + Math.ceil(members / MEMBERS_A_TIMEOUT));

  const operate = <T>(task: () => Promise<T>): Promise<BackendOutcome<T>> => outcomeOf(task, onBug);

  const remoteOf = async (received: ReceivedResource, kind: ResourceKind): Promise<Remote> => {
    const { id, content, members } = received;
    if (kind === "user") {
      ids.remember(content.name, id);
      return { content, remoteId: id };
    }
    const deadlineMs = deadlineFor(members.length);
    const { dialect } = await service.abilities(deadlineMs);
    const names = await namesOf(received, { service, ids, dialect, deadlineMs });
    return { content: withMembers(content, names), remoteId: id };
  };

  async function* listAll(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    const before = service.unreadable();
    for await (const page of service.pages(kind, () => deadlineFor())) {
      const remotes: Remote[] = [];
      for (const received of page) remotes.push(await remoteOf(received, kind));
      if (remotes.length > 0) yield remotes;
    }
    const count = service.unreadable() - before;
    if (count > 0) {
      log.warn("scim resources left out: they cannot be read here", { backend: settings.name, kind, count });
    }
  }

  return {
    name: settings.name,
    kind: "scim",
    mode: settings.mode,
    covers: isCountersignUrl(settings.url) ? null : RFC_COVERS,
    keeps,
    holds: {
      // Known only when the server was asked for some.
      get groups() {
        return service.hasGroups();
      },
      active: true,
    },
    read: (kind, name, hint) =>
      operate(async () => {
        const found = await service.find({ kind, name, id: hint?.remoteId, deadlineMs: deadlineFor() });
        return found === null ? null : await remoteOf(found, kind);
      }),
    put: (desired, hint) => {
      const deadlineMs = deadlineFor(memberCount(desired.content));
      return operate(() => putResource(desired, { writer, id: hint?.remoteId, deadlineMs }));
    },
    remove: (kind, name, hint) =>
      operate(async () => {
        await removeResource({ kind, name, id: hint?.remoteId, deadlineMs: deadlineFor() }, writer);
        return null;
      }),
    async *list(kind) {
      try {
        yield* listAll(kind);
      } catch (thrown) {
        throw new BackendListFault(faultOf(thrown, onBug));
      }
    },
    probe: () =>
      operate(async () => {
        await service.send({ method: "GET", path: "/Users?count=1&startIndex=1", deadlineMs: deadlineFor() });
        return null;
      }),
    close: () => http.close(),
  };
}

function memberCount(content: Content): number {
  return content.kind === "group" ? content.members.length : 0;
}

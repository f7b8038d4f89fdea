// The live page's data: everything at once, then what changes; one login closely; what was dropped.

import { Hono } from "hono";
import type { GatewayWatch } from "../../../radius/ports.ts";
import type { Store } from "../../../platform/store.ts";
import type { Connect } from "../clients/client_deps.ts";
import { doorOf } from "../onboarding/onboarding.ts";
import type { EventStreams } from "./event_stream.ts";
import { flowPicture } from "./flow_layout.ts";
import { createHistoryReader } from "../history/history.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { loginDetails, strayList } from "./live_details.ts";
import type { LiveFeed } from "./event_feed.ts";
import { createSimilarUsers } from "./similar_users.ts";
import type { People } from "../users/user_deps.ts";
import { Refusal } from "../errors.ts";

export interface LiveRouteDeps {
  readonly feed: LiveFeed;
  readonly watch: GatewayWatch;
  readonly store: Store;
  readonly streams: EventStreams;
  /** Absent where the console runs without the gateway. */
  readonly connect?: Connect;
  /** Absent where the console runs without a directory. */
  readonly people?: People;
}

export function createLiveRoutes({ feed, watch, store, streams, connect, people }: LiveRouteDeps) {
  const { port: radiusPort } = doorOf(connect?.listening.radius[0] ?? "");
  const history = createHistoryReader({ store });
  const findSimilarUser = createSimilarUsers({
    ...(people === undefined ? {} : { people }),
    ...(connect === undefined ? {} : { connect }),
  });
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), (c) => c.json(feed.snapshot()))
    .get("/picture", may("viewer", { countsAsUse: false }), (c) => c.json(flowPicture()))
    .get(
      "/strays",
      may("viewer", { countsAsUse: false }),
      async (c) => c.json(await strayList({ watch, findSimilarUser, radiusPort })),
    )
    .get("/logins/:id", may("viewer", { countsAsUse: false }), async (c) => {
      const details = await loginDetails(c.req.param("id"), {
        ...{ watch, history, findSimilarUser, radiusPort },
      });
      if (details === null) throw new Refusal("login_gone");
      return c.json(details);
    })
    .get("/stream", may("viewer", { countsAsUse: false }), (c) => {
      if (c.req.method === "HEAD") return c.body(null);
      // EventSource repeats the address it was made with, so its header is the newer of the two.
      const after = c.req.header("last-event-id") ?? c.req.query("after") ?? null;
      return streams.open({
        owner: c.var.session.id,
        start: (sink) => feed.follow(after, sink.send),
        isStillAllowed: c.var.isStillAllowed,
      });
    });
}

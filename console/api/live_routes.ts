// The live page's data: everything at once, then what changes.

import { Hono } from "hono";
import type { EventStreams } from "./event_stream.ts";
import type { HttpEnv } from "./http_env.ts";
import type { LiveFeed } from "./live_feed.ts";
import { sessionToken } from "./session_routes.ts";
import type { Sessions } from "./sessions.ts";

export interface LiveRouteDeps {
  readonly feed: LiveFeed;
  readonly streams: EventStreams;
  readonly sessions: Sessions;
}

export function createLiveRoutes({ feed, streams, sessions }: LiveRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", (c) => c.json(feed.snapshot()))
    .get("/stream", (c) => {
      if (c.req.method === "HEAD") return c.body(null);
      // EventSource repeats the address it was made with, so its header is the newer of the two.
      const after = c.req.header("last-event-id") ?? c.req.query("after") ?? null;
      const token = sessionToken(c);
      return streams.open({
        owner: c.var.session.id,
        start: (sink) => feed.follow(after, sink.send),
        isStillAllowed: async () => await sessions.resume(token, { countsAsUse: false }) !== null,
      });
    });
}

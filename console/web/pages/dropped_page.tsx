// What got no answer, or an answer outside any login: the newest packets as they come, each with why, since when and what to do.

import { useComputed } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { DropTally } from "../../../radius/ports.ts";
import type { ExplainedStray, StrayList } from "../../api/conversations/live_details.ts";
import { take } from "../api_client.ts";
import { countText, timeText } from "../format.ts";
import { droppedTotal } from "../models/dropped_total.ts";
import { createFollower } from "../models/follower.ts";
import { type LiveModels as Models, withLive } from "../models/live_models.ts";
import { useResource } from "../models/resource.ts";
import { Button } from "../parts/button.tsx";
import { Fetched } from "../parts/fetched.tsx";
import { late } from "../parts/late.tsx";
import { ExplanationText } from "../parts/live/explanation_text.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Packet } from "../parts/live/packets_view.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { readable } from "../words.ts";
import { findMessage, t } from "../i18n/translate.ts";

/** What a reason is called; one that the words do not know is called as the gateway has it. */
function dropTitle(reason: string): string {
  return findMessage(`explain.title_${reason}`) ?? readable(reason);
}

const ReconnectNote = late(async () => (await import("../parts/live/reconnect_note.tsx")).ReconnectNote);

export default function DroppedPage({ models: frame }: PageProps) {
  const models = withLive(frame);
  const { live, api } = models;
  const strays = useResource<StrayList>(models, {
    fetch: () => take(api.live.strays.$get()),
    inputs: [],
  });
  const total = useComputed(() => droppedTotal(live.counters.value));
  // A copy of a packet that is listed counts, but has no number of its own.
  const newest = useComputed(() => `${live.newestStray.value} ${total.value}`);
  const follower = useMemo(() =>
    createFollower({
      newest,
      fetch: () => void strays.reload(),
      later(delayMs, task) {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      },
    }), []);
  useEffect(() => {
    live.start();
    return () => {
      live.stop();
      follower.stop();
    };
  }, []);
  return (
    <main class="page">
      <PageBar title={t("live.strays")} back={{ href: "/live", label: t("live.back_to_live") }}>
        <Since live={live} />
      </PageBar>
      <ReconnectNote models={models} />
      <Filters models={models} />
      <Fetched resource={strays} failed="live.strays_failed">
        {(list) => <Listed models={models} list={list} follower={follower} />}
      </Fetched>
    </main>
  );
}

/** How many since the gateway's start, as the stream has it. */
function Since({ live }: Pick<Models, "live">) {
  const text = useComputed(() =>
    t("live.dropped_since_start", { count: countText(droppedTotal(live.counters.value)) })
  );
  return <span class="quiet">{text}</span>;
}

interface ListedProps {
  readonly models: Models;
  readonly list: StrayList;
  readonly follower: ReturnType<typeof createFollower>;
}

function Listed({ models, list, follower }: ListedProps) {
  const { router } = models;
  const [reason, source] = [router.param("reason"), router.param("source")];
  const fits = (one: { reason: string; source: string }) =>
    (reason === "" || one.reason === reason) && (source === "" || one.source === source);
  const items = list.items.filter(fits);
  const tallies = list.tallies.filter(fits);
  return (
    <section
      class="held"
      aria-label={t("live.strays")}
      onPointerEnter={() => follower.hold(true)}
      onPointerLeave={() => follower.hold(false)}
      onFocusIn={() => follower.hold(true)}
      onFocusOut={(event) => {
        const { relatedTarget, currentTarget } = event;
        if (!(relatedTarget instanceof Node) || !currentTarget.contains(relatedTarget)) follower.hold(false);
      }}
    >
      <Newer follower={follower} />
      {tallies.length > 0 && <Tallies models={models} tallies={tallies} />}
      {items.length === 0 && (
        <div class="panel">
          {reason + source === ""
            ? <EmptyState title={t("live.strays_none")} next={t("live.strays_none_next")} />
            : (
              <EmptyState
                title={t("live.strays_none_match")}
                next={t("live.strays_none_match_next")}
                onClear={() => router.setParams({ reason: "", source: "" })}
              />
            )}
        </div>
      )}
      <ol class="strays">
        {items.map((item) => <Stray key={item.id} models={models} item={item} port={list.radiusPort} />)}
      </ol>
    </section>
  );
}

/** Lies over what is held, so that nothing moves when it comes. */
function Newer({ follower }: Pick<ListedProps, "follower">) {
  return (
    <p class="held-newer">
      {follower.waiting.value && (
        <Button kind="primary" small onClick={follower.showNewer}>{t("live.strays_newer")}</Button>
      )}
    </p>
  );
}

/** What goes on now: each reason of each source, how often and since when. A click narrows the page to it. */
function Tallies({ models, tallies }: { models: Models; tallies: readonly DropTally[] }) {
  const narrowing = (name: "reason" | "source", value: string, text = value) => (
    <button
      type="button"
      class="cell-filter"
      title={t("live.only", { value: text })}
      onClick={() => models.router.setParams({ [name]: value })}
    >
      {text}
    </button>
  );
  return (
    <section class="panel tallies" aria-labelledby="tallies">
      <h2 id="tallies">{t("live.stray_tallies")}</h2>
      <ul>
        {tallies.map(({ reason, source, client, count, firstMs }) => (
          <li key={`${source} ${reason}`}>
            <b class="number">{countText(count)}</b>
            {narrowing("reason", reason, dropTitle(reason))}
            <span class="mono">{narrowing("source", source)}</span>
            {client !== null && <span class="mono quiet">{client}</span>}
            <span class="quiet small">
              {t("live.stray_since")} <Time models={models} atMs={firstMs} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What the page is narrowed to, each a button that takes it off. */
function Filters({ models: { router } }: { models: Models }) {
  const active = (["reason", "source"] as const).filter((name) => router.param(name) !== "");
  if (active.length === 0) return null;
  return (
    <p class="filter-chips">
      {active.map((name) => (
        <button
          key={name}
          type="button"
          class="filter-chip"
          onClick={() => router.setParams({ [name]: "" })}
        >
          <span class="unseen">{`${t("frame.clear_filter")} `}</span>
          {name === "reason" ? dropTitle(router.param(name)) : router.param(name)}
          <Symbol name="x" size={12} />
        </button>
      ))}
    </p>
  );
}

function Stray({ models, item, port }: { models: Models; item: ExplainedStray; port: number }) {
  const { reason, source, answered, lastMs, explanation, similar } = item;
  return (
    <li class="panel stray">
      <h2>{t("live.stray_from", { reason: dropTitle(reason), source })}</h2>
      <p class="quiet small">
        <Time models={models} atMs={lastMs} />
        {` · ${t(answered ? "live.stray_answered" : "live.stray_silent")}`}
      </p>
      <ExplanationText explanation={explanation} similar={similar} />
      <Packet packet={item} since={timeText(item.atMs)} port={port} />
    </li>
  );
}

// The list of logins: newest first, still under the pointer. A click on a name narrows the list to it, a click beside it opens the login.

import type { ComponentChildren } from "preact";
import type { ConversationView } from "../../../../radius/ports.ts";
import { countText, durationText, fullTimeText, timeText } from "../../format.ts";
import { stateName } from "../../models/board_model.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { stateWords, tryCommand } from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { Icon } from "../icon.tsx";
import { Button } from "../button.tsx";
import { Empty } from "../note.tsx";
import { LiveStatus } from "./live_status.tsx";
import { Bar } from "../time_left.tsx";
import { type RowPlace, VirtualList } from "../virtual_list.tsx";

const COLUMNS = [
  { label: "live.started", name: "c-time" },
  { label: "live.user", name: "c-user" },
  { label: "live.client", name: "c-client" },
  { label: "live.caller", name: "c-place" },
  { label: "live.state", name: "c-step" },
  { label: "live.age", name: "c-age number" },
] as const;

export function ConversationList({ models, chosenId }: { models: Models; chosenId: string }) {
  const { board, live } = models;
  const rows = board.rows.value;
  const newer = board.newer.value;
  const hrefOf = linksFrom(models);
  return (
    // The button for newer ones lies over the list, so the whole panel holds it: else its own appearance would let go.
    <section
      class="panel list"
      aria-label={t("live.logins")}
      onPointerEnter={() => board.hold(true)}
      onPointerLeave={() => board.hold(false)}
      onFocusIn={() => board.hold(true)}
      onFocusOut={(event) => {
        const { relatedTarget, currentTarget } = event;
        if (!(relatedTarget instanceof Node) || !currentTarget.contains(relatedTarget)) board.hold(false);
      }}
    >
      {newer > 0 && (
        <button
          type="button"
          class="button button-small newer"
          onClick={(event) => {
            // The button goes away with its reason; the focus goes to the first row instead of being lost.
            const list = event.currentTarget.parentElement;
            board.showNewer();
            list?.querySelector<HTMLElement>(".row a")?.focus({ preventScroll: true });
          }}
        >
          {t("live.newer", { count: countText(newer) })}
        </button>
      )}
      {rows.length === 0 ? <NoRows models={models} /> : (
        <div
          class="list"
          role="table"
          aria-label={t("live.logins")}
          aria-rowcount={rows.length + 1}
          style={{ flex: "1" }}
        >
          <div class="list-head" role="row">
            {COLUMNS.map(({ label, name }) => (
              <span key={name} role="columnheader" class={name}>{t(label)}</span>
            ))}
          </div>
          <VirtualList
            rows={rows}
            keyOf={(view) => view.id}
            label={t("live.newest_first")}
            reuse={!board.held.value}
            drawnWith={[chosenId, hrefOf("")]}
            renderRow={(view, place) => (
              <ConversationRow
                models={models}
                view={view}
                place={place}
                chosen={view.id === chosenId}
                href={hrefOf(view.id)}
              />
            )}
          />
        </div>
      )}
      <span class="unseen" role="status">
        {live.link.value.kind === "live" ? "" : t("live.not_live")}
      </span>
    </section>
  );
}

/** The same filters, with a login chosen. */
function linksFrom({ router }: Models): (id: string) => string {
  const query = new URLSearchParams();
  for (const name of ["q", "state", "client", "target"]) {
    if (router.param(name) !== "") query.set(name, router.param(name));
  }
  query.set("c", "");
  const front = `/live?${query}`;
  return (id) => front + encodeURIComponent(id);
}

interface RowProps {
  readonly models: Models;
  readonly view: ConversationView;
  readonly place: RowPlace;
  readonly chosen: boolean;
  readonly href: string;
}

function ConversationRow({ models, view, place, chosen, href }: RowProps) {
  const { router, clock } = models;
  const ended = view.outcome !== null;
  const state = stateWords(view);
  return (
    <div
      class={`row ${ended ? "ended" : ""}`}
      role="row"
      aria-rowindex={place.index + 2}
      data-chosen={chosen ? "" : undefined}
      style={{ transform: place.transform }}
      onClick={(event) => {
        // A click with a key held is the browser's: a new tab, say.
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        router.setParams({ c: chosen ? "" : view.id });
      }}
    >
      <span class="mono time c-time" role="cell" title={fullTimeText(view.startedMs)}>
        {timeText(view.startedMs)}
      </span>
      <span class="mono cut c-user" role="cell">
        <a href={href} aria-current={chosen ? "true" : undefined}>
          <span class="cut">{view.user === "" ? t("live.no_name") : view.user}</span>
        </a>
        {view.user !== "" && (
          <Narrow router={router} filter={{ q: view.user }} value={view.user} icon>
            <Icon name="search" size={12} />
          </Narrow>
        )}
      </span>
      <span class="mono cut c-client" role="cell">
        <Narrow router={router} filter={{ client: view.client }} value={view.client}>{view.client}</Narrow>
      </span>
      <span class="mono cut quiet c-place" role="cell">{view.place}</span>
      <span class="c-step" role="cell">
        <Narrow router={router} filter={{ state: stateName(view) }} value={state.label}>
          <LiveStatus words={state} />
        </Narrow>
      </span>
      <span class="c-age" role="cell">
        {ended ? <Took view={view} /> : <Age view={view} clock={clock} />}
      </span>
    </div>
  );
}

interface NarrowProps {
  readonly router: Models["router"];
  readonly filter: Readonly<Record<string, string>>;
  /** What the list then shows only. */
  readonly value: string;
  /** A sign of its own beside a name that is a link, shown with the pointer or the focus on the row. */
  readonly icon?: boolean;
  readonly children: ComponentChildren;
}

/** What a cell says, as a button that narrows the list to it. */
function Narrow({ router, filter, value, icon = false, children }: NarrowProps) {
  const label = t("live.only", { value });
  return (
    <button
      type="button"
      class={icon ? "cell-filter sign" : "cell-filter cut"}
      title={label}
      aria-label={icon ? label : undefined}
      onClick={(event) => {
        // The row would open the login.
        event.stopPropagation();
        router.setParams(filter);
      }}
    >
      {children}
    </button>
  );
}

/** Ended: how long it took. */
function Took({ view }: { view: ConversationView }) {
  return (
    <span class="age mono">
      <span>{durationText(view.updatedMs - view.startedMs)}</span>
    </span>
  );
}

/** Under way: how long, and how much of its time is used; amber from half. */
function Age({ view, clock }: { view: ConversationView; clock: Models["clock"] }) {
  const { startedMs, deadlineMs } = view;
  const nowMs = clock.nowMs.value;
  const used = Math.min(1, Math.max(0, (nowMs - startedMs) / Math.max(1, deadlineMs - startedMs)));
  return (
    <span class={`age mono ${used >= 0.5 ? "tone-wait" : ""}`}>
      <span>{durationText(nowMs - startedMs)}</span>
      <Bar share={used} />
    </span>
  );
}

function NoRows({ models }: { models: Models }) {
  const door = models.session.firstSteps.value?.[0];
  if (models.board.total.value > 0) {
    return (
      <Empty title={t("live.none_match")} next={t("live.none_match_next")}>
        <Button
          small
          onClick={() => models.router.setParams({ q: "", state: "", client: "", target: "" })}
        >
          {t("live.clear")}
        </Button>
      </Empty>
    );
  }
  if (models.live.link.value.kind === "connecting") {
    return <div class="empty" role="status">{t("live.fetching")}</div>;
  }
  return (
    <Empty title={t("live.none_yet")} next={t("live.none_yet_next")}>
      <code>{tryCommand({ at: door?.radius.tryAt ?? "127.0.0.1", user: door?.user ?? null })}</code>
    </Empty>
  );
}

// The list of logins, newest first. It does not move under the pointer. A click on a value filters the list; a click on a row opens
// the login.

import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConversationView } from "../../../../radius/ports.ts";
import { countText, durationText, fullTimeText, spanText, timeText } from "../../app/format.ts";
import { radtestCommand, stateLabel } from "../../app/login_state_labels.ts";
import { Empty } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { InlineIcon } from "../../components/inline_icon.tsx";
import { ShareBar } from "../../components/time.tsx";
import { type RowPosition, VirtualList } from "../../components/virtual_list.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { clientText } from "../../components/client_text.ts";
import { type LiveModels as Models, LiveStatus } from "./live_context.tsx";
import { stateName } from "./login_list.ts";

interface Column {
  readonly label: MessageKey;
  readonly name: string;
}

const COLUMNS: readonly Column[] = [
  { label: "common.started", name: "c-time" },
  { label: "common.user", name: "c-user" },
  { label: "common.client", name: "c-client" },
  { label: "common.caller", name: "c-place" },
  { label: "common.state", name: "c-step" },
  { label: "common.duration", name: "c-age" },
];
const NODE_COLUMN: Column = { label: "common.node", name: "c-node" };
/** The state and the age come last. */
const COLUMNS_OF_NODES = COLUMNS.toSpliced(-2, 0, NODE_COLUMN);

export function ConversationList({ models, chosenId }: { models: Models; chosenId: string }) {
  const { board, live } = models;
  const rows = board.rows.value;
  const newer = board.newer.value;
  const nodes = live.nodes.value;
  const hasNodes = Object.keys(nodes).length > 0;
  const hrefOf = loginHrefs(models, useMedia(PHONE));
  return (
    // The button for newer logins covers the list, so the whole panel holds the list. Otherwise the button would release it.
    <section
      class="panel list"
      aria-label={t("common.sign_ins")}
      data-nodes={hasNodes ? "" : undefined}
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
            // The button disappears, so the focus moves to the first row.
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
          class="list-table"
          role="table"
          aria-label={t("common.sign_ins")}
          aria-rowcount={rows.length + 1}
        >
          <div class="list-head" role="row">
            {(hasNodes ? COLUMNS_OF_NODES : COLUMNS).map(({ label, name }) => (
              <span key={name} role="columnheader" class={name}>{t(label)}</span>
            ))}
          </div>
          <VirtualList
            rows={rows}
            keyOf={(view) => view.id}
            label={t("live.newest_first")}
            reuse={!board.held.value}
            drawnWith={[chosenId, hrefOf(""), nodes]}
            renderRow={(view, place) => (
              <ConversationRow
                models={models}
                view={view}
                place={place}
                node={hasNodes ? nodes[view.node ?? ""] ?? view.node ?? "" : null}
                chosen={view.id === chosenId}
                href={hrefOf(view.id)}
              />
            )}
          />
        </div>
      )}
      <span class="unseen" role="status">
        {live.connection.value.kind === "live" ? "" : t("live.not_live")}
      </span>
    </section>
  );
}

/** Links that open a login and keep the filters. On a phone, a login is a page of its own. */
function loginHrefs({ router, filter }: Models, isPhone: boolean): (id: string) => string {
  if (isPhone) return (id) => `/live/c/${encodeURIComponent(id)}`;
  const query = new URLSearchParams();
  const { text } = filter.value;
  if (text !== "") query.set("q", text);
  for (const name of ["state", "client", "target", "approvals", "sessions", "tab"]) {
    if (router.param(name) !== "") query.set(name, router.param(name));
  }
  query.set("c", "");
  const front = `/live?${query}`;
  return (id) => front + encodeURIComponent(id);
}

interface RowProps {
  readonly models: Models;
  readonly view: ConversationView;
  readonly place: RowPosition;
  /** The node that handled the last packet; `null` while there is one node. */
  readonly node: string | null;
  readonly chosen: boolean;
  readonly href: string;
}

function ConversationRow({ models, view, place, node, chosen, href }: RowProps) {
  const { router, dataClock } = models;
  const ended = view.outcome !== null;
  const state = stateLabel(view);
  return (
    <div
      class={`row ${ended ? "ended" : ""}`}
      role="row"
      aria-rowindex={place.index + 2}
      data-chosen={chosen ? "" : undefined}
      style={{ transform: place.transform }}
      onClick={(event) => {
        // A click with a modifier key belongs to the browser, for example to open a tab.
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        if (href.startsWith("/live/c/")) router.go(href);
        else router.setParams({ c: chosen ? "" : view.id, t: "" });
      }}
    >
      <span class="time c-time" role="cell" title={fullTimeText(view.startedMs)}>
        {timeText(view.startedMs)}
      </span>
      <span class="cut c-user" role="cell">
        <a href={href} aria-current={chosen ? "true" : undefined}>
          <span class="cut">{view.user === "" ? t("live.no_name") : view.user}</span>
        </a>
        {view.user !== "" && (
          <FilterButton router={router} filter={{ q: view.user }} value={view.user} icon>
            <InlineIcon name="search" size={12} />
          </FilterButton>
        )}
      </span>
      <span class="cut c-client" role="cell">
        <FilterButton router={router} filter={{ client: view.client }} value={clientText(view.client)}>
          {clientText(view.client)}
        </FilterButton>
      </span>
      <span class="mono cut quiet c-place" role="cell">{view.place}</span>
      {node !== null && <span class="cut c-node" role="cell" title={node}>{node}</span>}
      <span class="c-step" role="cell">
        <FilterButton router={router} filter={{ state: stateName(view) }} value={state.label}>
          <LiveStatus words={state} />
        </FilterButton>
      </span>
      <span class="c-age" role="cell">
        {ended ? <Duration view={view} /> : <Age view={view} clock={dataClock} />}
      </span>
    </div>
  );
}

interface FilterButtonProps {
  readonly router: Models["router"];
  readonly filter: Readonly<Record<string, string>>;
  /** The value that the list is filtered by. */
  readonly value: string;
  /** An icon beside a link, visible while the row has the pointer or the focus. */
  readonly icon?: boolean;
  readonly children: ComponentChildren;
}

/** A value of a cell as a button that filters the list. */
function FilterButton({ router, filter, value, icon = false, children }: FilterButtonProps) {
  const label = t("common.only", { value });
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

/** The duration of a finished login. */
function Duration({ view }: { view: ConversationView }) {
  return (
    <span class="age" title={t("common.duration")}>
      <span>{spanText(view.updatedMs - view.startedMs)}</span>
    </span>
  );
}

/** The age of a login in progress, and the used share of its time. Amber from half on. */
function Age({ view, clock }: { view: ConversationView; clock: Models["dataClock"] }) {
  const { startedMs, deadlineMs } = view;
  const nowMs = clock.nowMs.value;
  const used = Math.min(1, Math.max(0, (nowMs - startedMs) / Math.max(1, deadlineMs - startedMs)));
  return (
    <span class={`age ${used >= 0.5 ? "tone-wait" : ""}`} title={t("live.age_so_far")}>
      <span>{durationText(nowMs - startedMs)}</span>
      <ShareBar share={used} />
    </span>
  );
}

function NoRows({ models }: { models: Models }) {
  const door = models.session.firstSteps.value?.[0];
  if (models.board.total.value > 0) {
    return (
      <Empty title={t("common.no_sign_ins_match")} next={t("live.none_match_next")}>
        <Button
          small
          onClick={() => models.router.setParams({ q: "", state: "", client: "", target: "" })}
        >
          {t("common.clear_filters")}
        </Button>
      </Empty>
    );
  }
  // Without a connection it is unknown whether there are logins: the first snapshot may have failed.
  if (models.live.connection.value.kind !== "live") {
    return <div class="empty" role="status">{t("live.fetching")}</div>;
  }
  return (
    <Empty title={t("common.no_sign_ins_yet")} next={t("live.none_yet_next")}>
      <code>{radtestCommand({ command: door?.radius.tryCommand, user: door?.user ?? null })}</code>
    </Empty>
  );
}

// Media queries for what styles cannot decide, such as the address of a link.

/** Screens where the rail is a bar at the bottom. */
const PHONE = "(max-width: 760px)";

/** Whether the query matches now. `false` where there are no media queries. */
function useMedia(query: string): boolean {
  const matches = useSignal(globalThis.matchMedia?.(query).matches ?? false);
  useEffect(() => {
    const list = globalThis.matchMedia?.(query);
    if (list === undefined) return;
    const read = () => void (matches.value = list.matches);
    list.addEventListener("change", read);
    return () => list.removeEventListener("change", read);
  }, [query]);
  return matches.value;
}

// The drawer below the list of the Live page: pending approvals and connected VPN sessions. Closed, it shows their counts.

import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ConnectedAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import { take } from "../../app/api_client.ts";
import { countText } from "../../app/format.ts";
import { type Resource, useInterval, useResource } from "../../app/resource.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { t } from "../../i18n/translate.ts";
import type { LiveModels as Models } from "./live_context.tsx";
import { VpnSessionList } from "./session_list.tsx";

const ApprovalsPanel = lazy(async () => (await import("./approvals_panel.tsx")).ApprovalsPanel);

const DRAWER_ID = "live-drawer";
/** Also query parameters: `?approvals=open` is a link to the open drawer. */
const PANELS = ["approvals", "sessions"] as const;
const OPEN = "open";
type DrawerPanel = typeof PANELS[number];

const POLL_INTERVAL_MS = 10_000;

export function LiveDrawer({ models }: { models: Models }) {
  const { live, dataClock, router, session } = models;
  const connected = useResource<ConnectedAnswer>(models, {
    fetch: () => take(models.api.connected.$get({ query: {} })),
    inputs: [],
  });
  useInterval(POLL_INTERVAL_MS, connected.reload);
  const openApprovals = () => {
    router.setParams({ approvals: OPEN, sessions: "" });
    document.querySelector<HTMLElement>(".drawer-button")?.focus();
  };
  useShortcuts([
    { keys: "d", label: "live.key_deny", needs: "operator", run: denyFocused },
    ...session.features.value.approvals
      ? [{ keys: "a", label: "live.key_approvals", run: openApprovals } as const]
      : [],
  ]);
  const pending = useComputed(() => {
    const list = live.approvals.value;
    if (list === null) return 0;
    const over = list.items.filter(({ deadlineMs }) => deadlineMs <= dataClock.nowMs.value).length;
    return list.total - over;
  }).value;
  const state = connected.state.value;
  const sessions = state.kind === "ready" ? state.value.total : 0;
  const open = PANELS.find((name) => router.param(name) === OPEN) ?? null;
  // The session knows this before the lists arrive, so the layout does not shift.
  const hasApprovals = session.features.value.approvals;
  if (!hasApprovals && sessions === 0 && open === null) return null;
  const toggle = (name: DrawerPanel) =>
    router.setParams({ approvals: "", sessions: "", ...(open === name ? {} : { [name]: OPEN }) });
  return (
    <section class="panel drawer" aria-label={t("live.drawer")}>
      <div class="drawer-bar">
        {hasApprovals && (
          <DrawerButton name="approvals" count={pending} open={open} toggle={toggle}>
            {t("common.pending_approvals")}
          </DrawerButton>
        )}
        {sessions > 0 && (
          <DrawerButton name="sessions" count={sessions} open={open} toggle={toggle}>
            {t("live.sessions_title")}
          </DrawerButton>
        )}
      </div>
      {open !== null && (
        <div class="drawer-body" id={DRAWER_ID}>
          {open === "approvals"
            ? <ApprovalsPanel models={models} />
            : <VpnSessionsPanel models={models} connected={connected} />}
        </div>
      )}
    </section>
  );
}

interface DrawerButtonProps {
  readonly name: DrawerPanel;
  readonly count: number;
  readonly open: DrawerPanel | null;
  readonly toggle: (name: DrawerPanel) => void;
  readonly children: ComponentChildren;
}

function DrawerButton({ name, count, open, toggle, children }: DrawerButtonProps) {
  const isOpen = open === name;
  return (
    <button
      type="button"
      class="drawer-button"
      aria-expanded={isOpen}
      aria-controls={isOpen ? DRAWER_ID : undefined}
      onClick={() => toggle(name)}
    >
      <Icon name="chevron-down" size={14} />
      <span>{children}</span> <span class={`badge ${count > 0 ? "some" : ""}`}>{countText(count)}</span>
    </button>
  );
}

/** Only the focused row, so that a key cannot deny another login by accident. */
function denyFocused(): void {
  document.activeElement?.closest(".approval")?.querySelector<HTMLElement>(".button-bad")?.click();
}

// The VPN sessions in the drawer of the Live page.

function VpnSessionsPanel(
  { models, connected }: { models: Models; connected: Resource<ConnectedAnswer> },
) {
  const state = connected.state.value;
  if (state.kind !== "ready") return null;
  const { sessions, total, stale } = state.value;
  return (
    <>
      {stale > 0 && <p class="panel-note">{t("live.sessions_stale", { count: stale })}</p>}
      <VpnSessionList
        withUser
        models={models}
        label={t("live.sessions_title")}
        sessions={sessions}
        onOrdered={connected.reload}
      />
      {total > sessions.length && (
        <p class="panel-note">{t("live.sessions_newest", { count: sessions.length })}</p>
      )}
    </>
  );
}

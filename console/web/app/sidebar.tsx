// The sidebar: the pages, the signed-in administrator, and sign-out. On small screens, "More" in the bottom bar opens it.

import { useEffect, useRef } from "preact/hooks";
import { Icon, Logo, type SpriteIcon } from "../components/icons.tsx";
import type { Models } from "./app_context.ts";
import { permissionHint } from "./session_model.ts";
import {
  matchRoute,
  type PageRoute,
  type RouteName,
  SIDEBAR_GROUPS,
  sidebarRoutes,
  startPath,
} from "./routes.ts";
import { readyValue } from "./resource.ts";
import { t } from "../i18n/translate.ts";

const SHEET = "sidebar";
const ROWS = sidebarRoutes();

export function Sidebar({ models }: { models: Models }) {
  const nav = useRef<HTMLElement>(null);
  const path = models.router.path.value;
  const open = models.overlay.value;
  useEffect(() => {
    if (nav.current?.matches(":popover-open")) nav.current.hidePopover();
  }, [path, open]);
  useEffect(() => {
    // In a low window the pages scroll.
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [path]);
  return (
    <>
      <nav class="sidebar" id={SHEET} ref={nav} popover="auto" aria-label={t("shell.pages")}>
        <button type="button" class="button skip-link" onClick={skipToContent}>{t("shell.skip")}</button>
        <a class="wordmark" href={startPath(readyValue(models.session.session.value)?.role)}>
          <Logo />Countersign
        </a>
        <button type="button" class="sidebar-link find" onClick={() => models.overlay.value = "palette"}>
          <Icon name="search" />
          {t("shell.find")}
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <div class="sidebar-pages">
          {SIDEBAR_GROUPS.map((group) => <Group key={group} models={models} group={group} />)}
          {models.session.features.value.phone && <PhonePage />}
        </div>
        <SidebarFooter models={models} />
      </nav>
      <BottomBar models={models} />
    </>
  );
}

/** Skips the links of the sidebar: moves the focus to the heading of the page. */
function skipToContent(): void {
  document.querySelector<HTMLElement>("main h1")?.focus();
}

function Group({ models, group }: { models: Models; group: typeof SIDEBAR_GROUPS[number] }) {
  const rows = ROWS.filter(([, { sidebar }]) => sidebar.group === group);
  if (rows.length === 0) return null;
  return (
    <div class="sidebar-group">
      <h2>{t(`shell.${group}`)}</h2>
      <ul>
        {rows.map(([name, place]) => <SidebarLink key={name} models={models} name={name} place={place} />)}
      </ul>
    </div>
  );
}

interface SidebarLinkProps {
  readonly models: Models;
  readonly name: RouteName;
  readonly place: PageRoute;
  readonly title?: PageRoute["title"];
}

function SidebarLink({ models, name, place, title = place.sidebar?.title ?? place.title }: SidebarLinkProps) {
  const reason = place.needs === "anyone" ? undefined : permissionHint(models, place.needs);
  const inside = (
    <>
      <Icon name={place.sidebar?.icon ?? "ellipsis"} />
      <span class="cut">{t(title)}</span>
    </>
  );
  return (
    <li>
      {reason === undefined
        ? (
          <a
            class="sidebar-link"
            href={place.pattern}
            aria-current={isHere(models, name) ? "page" : undefined}
            // Starts loading before the click.
            onPointerDown={() => void models.pages.prepare(place.pattern)}
          >
            {inside}
          </a>
        )
        : (
          <span class="sidebar-link" aria-disabled="true" title={reason}>
            {inside}
            <span class="unseen">{` (${reason})`}</span>
          </span>
        )}
    </li>
  );
}

function isHere({ router }: Models, name: RouteName): boolean {
  const visit = matchRoute(router.path.value);
  return visit !== null && (visit.name === name || visit.route.parent === name);
}

function PhonePage() {
  return (
    <div class="sidebar-group">
      <h2>{t("shell.for_users")}</h2>
      <ul>
        <li>
          <a class="sidebar-link" href="/device" target="_blank" rel="noopener">
            <Icon name="smartphone" />
            {t("common.phone_page")}
          </a>
        </li>
      </ul>
    </div>
  );
}

function SidebarFooter({ models: { session, preferences, overlay } }: { models: Models }) {
  const who = readyValue(session.session.value);
  const isDark = preferences.isDark();
  return (
    <div class="sidebar-end">
      {who !== null && (
        <div class="who">
          <strong class="cut">{who.name}</strong>
          <span>{t(`common.role_${who.role}`)}</span>
        </div>
      )}
      <div class="sidebar-actions">
        <SidebarButton icon="languages" onClick={() => overlay.value = "look"}>
          {t("shell.look")}
        </SidebarButton>
        <SidebarButton icon={isDark ? "sun" : "moon"} onClick={preferences.toggleTheme}>
          {t(isDark ? "shell.light" : "shell.dark")}
        </SidebarButton>
        <SidebarButton icon="keyboard" onClick={() => overlay.value = "help"}>
          {t("shell.keys_short")}
        </SidebarButton>
        <SidebarButton icon="log-out" onClick={() => void session.signOut()}>
          {t("common.sign_out")}
        </SidebarButton>
      </div>
    </div>
  );
}

function SidebarButton(
  { icon, onClick, children }: { icon: SpriteIcon; onClick: () => void; children: string },
) {
  return (
    <button type="button" class="button button-plain" onClick={onClick}>
      <Icon name={icon} size={14} />
      {children}
    </button>
  );
}

/** The bottom bar of small screens: at most four pages, and the others behind "More". */
function BottomBar({ models }: { models: Models }) {
  const names = ROWS.filter(([, { sidebar }]) => sidebar.isInBottomBar === true);
  return (
    <nav class="bottom-bar" aria-label={t("shell.more_pages")}>
      <ul>
        {names.map(([name, place]) => (
          <SidebarLink
            key={name}
            models={models}
            name={name}
            place={place}
            title={place.sidebar.shortTitle}
          />
        ))}
        <li>
          <button type="button" class="sidebar-link" popovertarget={SHEET}>
            <Icon name="ellipsis" />
            {t("common.more")}
          </button>
        </li>
      </ul>
    </nav>
  );
}

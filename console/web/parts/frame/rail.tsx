// The rail: where one can go, who is here, and the way out. On a small screen it is a sheet behind the bar's "More".

import { useEffect, useRef } from "preact/hooks";
import type { SpriteIcon } from "../../icons.ts";
import type { Models } from "../../models/models.ts";
import { whyNot } from "../../access_words.ts";
import { type Place, type PlaceName, type RailGroup, railRows, visitOf } from "../../places.ts";
import { valueOf } from "../../remote.ts";
import { t } from "../../i18n/translate.ts";
import { Mark } from "./mark.tsx";
import { Symbol } from "../symbol.tsx";

const GROUPS: readonly RailGroup[] = ["watch", "manage", "connect", "govern"];
const SHEET = "rail";
const ROWS = railRows();

export function Rail({ models }: { models: Models }) {
  const nav = useRef<HTMLElement>(null);
  const path = models.router.path.value;
  const open = models.overlay.value;
  useEffect(() => {
    if (nav.current?.matches(":popover-open")) nav.current.hidePopover();
  }, [path, open]);
  return (
    <>
      <nav class="rail" id={SHEET} ref={nav} popover="auto" aria-label={t("frame.pages")}>
        <a class="wordmark" href="/live">
          <Mark />Countersign
        </a>
        <button type="button" class="rail-link find" onClick={() => models.overlay.value = "palette"}>
          <Symbol name="search" />
          {t("frame.find")}
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        {GROUPS.map((group) => <Group key={group} models={models} group={group} />)}
        {models.session.features.value.phone && <PhonePage />}
        <RailEnd models={models} />
      </nav>
      <Bar models={models} />
    </>
  );
}

function Group({ models, group }: { models: Models; group: RailGroup }) {
  const rows = ROWS.filter(([, { rail }]) => rail.group === group);
  if (rows.length === 0) return null;
  return (
    <div class="rail-group">
      <h2>{t(`frame.${group}`)}</h2>
      <ul>
        {rows.map(([name, place]) => <RailLink key={name} models={models} name={name} place={place} />)}
      </ul>
    </div>
  );
}

interface RailLinkProps {
  readonly models: Models;
  readonly name: PlaceName;
  readonly place: Place;
  readonly title?: Place["title"];
}

function RailLink({ models, name, place, title = place.title }: RailLinkProps) {
  const reason = place.needs === "anyone" ? undefined : whyNot(models, place.needs);
  const inside = (
    <>
      <Symbol name={place.rail?.icon ?? "ellipsis"} />
      <span class="cut">{t(title)}</span>
    </>
  );
  return (
    <li>
      {reason === undefined
        ? (
          <a
            class="rail-link"
            href={place.pattern}
            aria-current={isHere(models, name) ? "page" : undefined}
            // The files are on their way before the finger is up again.
            onPointerDown={() => void models.pages.prepare(place.pattern)}
          >
            {inside}
          </a>
        )
        : (
          <span class="rail-link" aria-disabled="true" title={reason}>
            {inside}
            <span class="unseen">{` (${reason})`}</span>
          </span>
        )}
    </li>
  );
}

function isHere({ router }: Models, name: PlaceName): boolean {
  const visit = visitOf(router.path.value);
  return visit !== null && (visit.name === name || visit.place.under === name);
}

function PhonePage() {
  return (
    <div class="rail-group">
      <h2>{t("frame.for_users")}</h2>
      <ul>
        <li>
          <a class="rail-link" href="/device" target="_blank" rel="noopener">
            <Symbol name="smartphone" />
            {t("frame.phone_page")}
          </a>
        </li>
      </ul>
    </div>
  );
}

function RailEnd({ models: { session, preferences, overlay } }: { models: Models }) {
  const who = valueOf(session.session.value);
  const isDark = preferences.isDark();
  return (
    <div class="rail-end">
      {who !== null && (
        <div class="who">
          <strong class="cut">{who.name}</strong>
          <span>{t(`frame.role_${who.role}`)}</span>
        </div>
      )}
      <div class="rail-actions">
        <RailButton icon={isDark ? "sun" : "moon"} onClick={preferences.switchTheme}>
          {t(isDark ? "frame.light" : "frame.dark")}
        </RailButton>
        <RailButton icon="languages" onClick={() => overlay.value = "look"}>{t("frame.look")}</RailButton>
        <RailButton icon="keyboard" onClick={() => overlay.value = "help"}>
          {t("frame.keys_short")}
        </RailButton>
        <RailButton icon="log-out" onClick={() => void session.signOut()}>{t("frame.sign_out")}</RailButton>
      </div>
    </div>
  );
}

function RailButton(
  { icon, onClick, children }: { icon: SpriteIcon; onClick: () => void; children: string },
) {
  return (
    <button type="button" class="button button-plain" onClick={onClick}>
      <Symbol name={icon} size={14} />
      {children}
    </button>
  );
}

/** The bottom bar of small screens: at most four places, and the rest behind "More". */
function Bar({ models }: { models: Models }) {
  const names = ROWS.filter(([, { rail }]) => rail.inBar === true);
  return (
    <nav class="bottom-bar" aria-label={t("frame.more_pages")}>
      <ul>
        {names.map(([name, place]) => (
          <RailLink key={name} models={models} name={name} place={place} title={place.rail.barTitle} />
        ))}
        <li>
          <button type="button" class="rail-link" popovertarget={SHEET}>
            <Symbol name="ellipsis" />
            {t("frame.more")}
          </button>
        </li>
      </ul>
    </nav>
  );
}

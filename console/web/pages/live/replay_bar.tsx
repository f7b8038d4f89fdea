// The replay of one login: a player that moves the time of its steps and packets. The time is in the address.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ConversationView, PacketRecord } from "../../../../radius/ports.ts";
import type { Models } from "../../app/app_context.ts";
import { secondsText, spanText } from "../../app/format.ts";
import { momentLabel } from "../../app/login_state_labels.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { CopyButton } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";

const FRAME_MS = 100;
/** The replay continues after the end, so that the end is visible. */
const BEYOND_MS = 500;

type Timed = Pick<ConversationView, "startedMs" | "updatedMs">;

/** The replay time in the address, in milliseconds since the epoch; `Infinity` without one. */
export function replayTimeMs(router: Models["router"], { startedMs }: Timed): number {
  const seconds = Number.parseFloat(router.param("t"));
  return Number.isFinite(seconds) ? startedMs + seconds * 1000 : Infinity;
}

interface ReplayProps {
  readonly models: Models;
  readonly view: ConversationView;
  readonly packets: readonly PacketRecord[];
  /** Called when the replay starts or moves. */
  readonly onPlay?: () => void;
  /** More actions after those of the replay. */
  readonly children?: ComponentChildren;
}

export function ReplayBar({ models: { router }, view, packets, onPlay, children }: ReplayProps) {
  const speed = useSignal(0);
  const lengthMs = Math.max(1, view.updatedMs - view.startedMs) + BEYOND_MS;
  const atMs = Math.min(lengthMs, replayTimeMs(router, view) - view.startedMs);
  const isWhole = atMs >= lengthMs;
  const show = (offsetMs: number) => router.setParams({ t: String(Math.max(0, offsetMs / 1000)) });
  const play = (times: number) => {
    if (times > 0) onPlay?.();
    speed.value = times;
  };
  useEffect(() => {
    if (speed.value === 0) return;
    const timer = setInterval(() => {
      const now = replayTimeMs(router, view) - view.startedMs;
      const next = (now >= lengthMs ? 0 : now) + FRAME_MS * speed.value;
      show(Math.round(Math.min(next, lengthMs)));
      if (next >= lengthMs) speed.value = 0;
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [speed.value, lengthMs]);
  useShortcuts([
    { keys: "r", label: "live.key_replay", run: () => play(speed.peek() === 0 ? 1 : 0) },
  ]);
  const stepOn = () => {
    const times = [...view.moments, ...packets].map((one) => one.atMs - view.startedMs).sort((a, b) => a - b);
    const from = isWhole ? -1 : atMs;
    onPlay?.();
    show(times.find((time) => time > from) ?? times[0] ?? 0);
  };
  const reached = view.moments.findLast((moment) => moment.atMs <= view.startedMs + atMs);
  const seconds = isWhole ? spanText(view.updatedMs - view.startedMs) : secondsText(atMs);
  return (
    <section class="replay" aria-label={t("live.replay")}>
      <input
        type="range"
        min={0}
        max={lengthMs}
        step={10}
        value={isWhole ? lengthMs : atMs}
        aria-label={t("live.replay_at")}
        aria-valuetext={`${seconds} ${reached === undefined ? "" : momentLabel(reached.step).label}`}
        onInput={(event) => {
          onPlay?.();
          show(Number(event.currentTarget.value));
        }}
      />
      <span class="mono number">{seconds}</span>
      <button type="button" class="button button-small" onClick={stepOn}>{t("common.step")}</button>
      <PlayButtons isPlaying={speed.value !== 0} play={play} />
      {!isWhole && (
        <button
          type="button"
          class="button button-small"
          onClick={() => router.setParams({ t: "" })}
        >
          {t("live.replay_all")}
        </button>
      )}
      <CopyButton
        what={t("common.copy_link")}
        text={`${location.origin}/live/c/${encodeURIComponent(view.id)}${isWhole ? "" : `?t=${atMs / 1000}`}`}
      />
      {children}
    </section>
  );
}

function PlayButtons({ isPlaying, play }: { isPlaying: boolean; play: (speed: number) => void }) {
  if (isPlaying) {
    return (
      <button type="button" class="button button-small" onClick={() => play(0)}>
        {t("live.replay_stop")}
      </button>
    );
  }
  return (
    <>
      <button type="button" class="button button-small" onClick={() => play(1)}>
        {t("live.replay_play")}
      </button>
      <button
        type="button"
        class="button button-small"
        aria-label={t("live.replay_fast")}
        onClick={() => play(8)}
      >
        8×
      </button>
    </>
  );
}

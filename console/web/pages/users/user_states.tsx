// Labels, tones and icons for the status of a user, its factors, and its backends.

import type { Factor } from "../../../../radius/flow/context.ts";
import type { BackendMark } from "../../../api/users/user_types.ts";
import { findMessage, t } from "../../i18n/translate.ts";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { Chip, StateText } from "../../components/status.tsx";

/** "Locked" comes before "inactive", because an administrator has to undo it. */
export function userState({ active, locked }: { active: boolean; locked: boolean }): StateLabel {
  if (!active) return { label: t("users.status_inactive"), tone: "idle", shape: "ring" };
  if (locked) return { label: t("users.status_locked"), tone: "bad", shape: "cross" };
  return { label: t("users.status_active"), tone: "ok", shape: "check" };
}

export function factorLabel(factor: Factor): string {
  return t(`common.factor_${factor}`);
}

/** What a login used: a factor, a recovery code or a bypass code. */
export function usedFactorLabel(name: string): string {
  return findMessage(`common.factor_${name}`) ?? name;
}

const STATE_STYLES = {
  present: { tone: "ok", shape: "check" },
  pending: { tone: "wait", shape: "clock" },
  failed: { tone: "bad", shape: "cross" },
  vanished: { tone: "bad", shape: "cross" },
  differs: { tone: "wait", shape: "diamond" },
  absent: { tone: "idle", shape: "ring" },
} as const satisfies Record<string, Pick<StateLabel, "tone" | "shape">>;

const WORDS = {
  present: "users.sync_present",
  pending: "users.sync_pending",
  failed: "users.sync_failed",
  vanished: "users.sync_vanished",
  differs: "users.sync_differs",
  absent: "users.sync_absent",
} as const;

/** The state of a backend. A backend with different values or missing members is not "in sync". */
export function backendState(mark: Omit<BackendMark, "name"> | null): StateLabel {
  if (mark?.state === "present" && mark.notStored !== undefined) {
    return { ...STATE_STYLES.differs, label: t("common.not_stored", { count: mark.notStored }) };
  }
  const name = mark === null ? "absent" : mark.state === "present" && mark.differs ? "differs" : mark.state;
  return { ...STATE_STYLES[name], label: t(WORDS[name]) };
}

/** One label if all backends are in sync; otherwise a chip for each other backend. */
export function BackendMarks({ marks }: { marks: readonly BackendMark[] }) {
  const troubled = marks.filter(({ state, differs, notStored }) =>
    state !== "present" || differs || notStored !== undefined
  );
  if (marks.length === 0) return <span class="quiet">{t("common.none")}</span>;
  if (troubled.length === 0) return <StateText words={backendState({ state: "present", differs: false })} />;
  return (
    <span class="marks">
      {troubled.map((mark) => {
        const { label, ...look } = backendState(mark);
        return <Chip key={mark.name} words={{ ...look, label: `${mark.name}: ${label}` }} />;
      })}
    </span>
  );
}

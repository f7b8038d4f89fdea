// The sentence of each row of System status, from the state of its part.

import type { HealthPart } from "../../../api/targets/target_types.ts";
import { t } from "../../i18n/translate.ts";

/** The details of a row: its problem, or its figure. */
export function healthText({ kind, figure, limit, detail, name, note, push }: HealthPart): string {
  if (push !== undefined) return t(`health.push_${push}`);
  if (note !== undefined) return t(`health.note_${note}`, { name });
  if (kind === "unsigned") {
    return t(
      detail === "seen" || detail === "always" ? `health.unsigned_${detail}` : "health.unsigned_possible",
    );
  }
  if (detail !== "") return detail;
  if (limit !== undefined) return t("health.count_in_hour", { count: figure ?? 0, limit });
  if (name === "") return t("health.embedded");
  if (figure === null) return "";
  if (kind === "push") return t("health.push_phones", { count: figure });
  if (kind === "certificate") return t("health.days_left", { count: figure });
  if (kind === "log_export") return t("health.records_waiting", { count: figure });
  if (kind === "mail") return t("health.mails_waiting", { count: figure });
  if (kind === "outbox") return t("health.writes_owed", { count: figure });
  return `${figure} ms`;
}

// The list as a file: fetched with the session, so that a refusal is said on the page and not saved as a file.

import { useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import { failureText } from "../../api_client.ts";
import { download } from "../../models/download.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Symbol } from "../symbol.tsx";

interface ExportProps {
  readonly models: Models;
  readonly what: "users" | "groups";
  /** The list's own filters; "" for those that are off. */
  readonly filters: Readonly<Record<string, string>>;
}

export function ExportButton({ models, what, filters }: ExportProps) {
  const busy = useSignal(false);
  const reason = whyNot(models, "user_manager");
  const save = async () => {
    busy.value = true;
    try {
      await models.session.whileSignedIn(() =>
        download(`/console/api/export/${what}?${queryOf(filters)}`, `${what}.csv`)
      );
    } catch (fault) {
      models.toasts.say(`${t("groups.export_failed")} ${failureText(fault)}`, { tone: "bad" });
    }
    busy.value = false;
  };
  return (
    <button
      type="button"
      class="button"
      disabled={reason !== undefined || busy.value}
      title={reason}
      onClick={() => void save()}
    >
      <Symbol name="download" />
      {busy.value ? t("frame.working") : t("groups.export")}
    </button>
  );
}

function queryOf(filters: Readonly<Record<string, string>>): URLSearchParams {
  const given = Object.entries(filters).filter(([, value]) => value !== "");
  return new URLSearchParams([...given, ["format", "csv"]]);
}

// The audit as a file, of what the filters let through. The server asks for a fresh factor first.

import { useSignal } from "@preact/signals";
import { failureText } from "../../api_client.ts";
import { download } from "../../models/download.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Symbol } from "../symbol.tsx";

interface AuditExportProps {
  readonly models: Models;
  /** As the API takes it, without what is off. */
  readonly query: Readonly<Record<string, string>>;
}

export function AuditExport({ models, query }: AuditExportProps) {
  const busy = useSignal(false);
  const save = async (format: string) => {
    busy.value = true;
    const address = `/console/api/audit/export?${new URLSearchParams({ ...query, format })}`;
    try {
      await models.session.whileSignedIn(() => download(address, `audit.${format}`));
    } catch (fault) {
      models.toasts.say(`${t("govern.export_failed")} ${failureText(fault)}`, { tone: "bad" });
    }
    busy.value = false;
  };
  return (
    <>
      {(["csv", "json"] as const).map((format) => (
        <button
          key={format}
          type="button"
          class="button"
          disabled={busy.value}
          onClick={() => void save(format)}
        >
          <Symbol name="download" size={14} />
          {busy.value ? t("frame.working") : t(`govern.export_${format}`)}
        </button>
      ))}
    </>
  );
}

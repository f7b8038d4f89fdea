// The preview of a seed file: what the import would do with each row, its progress, and its result.

import { useSignal } from "@preact/signals";
import type { TokenImportRow, TokenImportVerdict, TokenImportView } from "../../../api/tokens/token_types.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";
import { tokenTypeText } from "./token_texts.ts";

const TOKEN_IMPORT_VERDICTS = ["new", "known", "refused"] as const;

interface PreviewProps {
  readonly view: TokenImportView;
  readonly onShow: (next: { verdict: TokenImportVerdict | ""; page: number }) => void;
}

export function ImportPreview({ view, onShow }: PreviewProps) {
  const { state, problem, done, total, counts, imported } = view;
  if (state === "receiving") return null;
  if (state === "checking" || state === "applying") {
    return (
      <div role="status">
        <p>{t(`tokens.progress_${state}`, { done, count: state === "applying" ? counts.new : total })}</p>
        <progress
          aria-label={t("common.working")}
          max={Math.max(1, state === "applying" ? counts.new : total)}
          value={done}
        />
      </div>
    );
  }
  if (problem !== null) {
    return <Alert tone="bad" icon="alert" role="alert">{t(`tokens.problem_${problem}`)}</Alert>;
  }
  if (state === "applied") {
    return <Alert tone="ok" icon="check" role="status">{t("tokens.imported", { count: imported })}</Alert>;
  }
  return (
    <>
      <p role="status">
        {t("tokens.preview", { count: total })} {t("tokens.preview_new", { count: counts.new })},{" "}
        {t("tokens.preview_known", { count: counts.known })},{" "}
        {t("tokens.preview_refused", { count: counts.refused })}.
        {view.assigns > 0 && ` ${t("tokens.preview_assigns", { count: view.assigns })}`}
      </p>
      {view.isSigned && <Alert tone="wait">{t("tokens.is_signed")}</Alert>}
      <PreviewRows view={view} onShow={onShow} />
    </>
  );
}

function PreviewRows({ view, onShow }: PreviewProps) {
  const verdict = useSignal<TokenImportVerdict | "">("");
  const pages = Math.max(1, Math.ceil(view.matching / view.size));
  const choose = (next: TokenImportVerdict | "") => {
    verdict.value = next;
    onShow({ verdict: next, page: 1 });
  };
  return (
    <>
      <select
        class="input"
        aria-label={t("tokens.rows_shown")}
        value={verdict.value}
        onChange={(event) =>
          choose(TOKEN_IMPORT_VERDICTS.find((one) => one === event.currentTarget.value) ?? "")}
      >
        <option value="">{`${t("tokens.rows_all")} (${view.total})`}</option>
        {TOKEN_IMPORT_VERDICTS.map((one) => (
          <option key={one} value={one}>{`${t(`tokens.rows_${one}`)} (${view.counts[one]})`}</option>
        ))}
      </select>
      <ul class="people-list" aria-label={t("tokens.rows")}>
        {view.rows.map((row) => <PreviewRow key={row.line} row={row} />)}
      </ul>
      {pages > 1 && (
        <div class="people-actions">
          <Button
            small
            disabled={view.page <= 1}
            onClick={() => onShow({ verdict: verdict.value, page: view.page - 1 })}
          >
            {t("common.previous")}
          </Button>
          <span>{view.page} / {pages}</span>
          <Button
            small
            disabled={view.page >= pages}
            onClick={() => onShow({ verdict: verdict.value, page: view.page + 1 })}
          >
            {t("common.next")}
          </Button>
        </div>
      )}
    </>
  );
}

function PreviewRow({ row }: { row: TokenImportRow }) {
  const { line, serial, verdict, problem, kind, algorithm, digits, periodS, user, assignment } = row;
  return (
    <li>
      <span class="quiet small">{line}</span>
      <bdi class="mono">{serial}</bdi>
      {kind !== null && algorithm !== null && (
        <span class="small">{tokenTypeText({ kind, algorithm, digits, periodS })}</span>
      )}
      {verdict !== "new" && (
        <span class="small">{problem === null ? t("tokens.known") : t(`tokens.row_${problem}`)}</span>
      )}
      {assignment !== "none" && (
        <span class="small">
          {t(`tokens.assignment_${assignment}`)} <bdi>{user}</bdi>
        </span>
      )}
    </li>
  );
}

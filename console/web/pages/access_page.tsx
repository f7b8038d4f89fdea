// Access: who may do what here, one's own way in, sessions, and tokens for scripts.

import { currentTab, type Tab, Tabs } from "../parts/tabs.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";
import { late } from "../parts/late.tsx";

const AdminList = late(async () => (await import("../parts/access/admin_list.tsx")).AdminList);
const OwnFactors = late(async () => (await import("../parts/access/own_factors.tsx")).OwnFactors);
const OwnSessions = late(async () => (await import("../parts/access/own_sessions.tsx")).OwnSessions);
const TokenList = late(async () => (await import("../parts/access/token_list.tsx")).TokenList);

const PARTS = {
  "": AdminList,
  "sign-in": OwnFactors,
  sessions: OwnSessions,
  tokens: TokenList,
} as const;

export default function AccessPage({ models }: PageProps) {
  const tabs: readonly Tab[] = [
    { hash: "", label: t("access.administrators") },
    { hash: "sign-in", label: t("access.your_sign_in") },
    { hash: "sessions", label: t("access.sessions") },
    { hash: "tokens", label: t("access.tokens") },
  ];
  const current = currentTab(models, tabs);
  const Part = PARTS[current as keyof typeof PARTS] ?? AdminList;
  return (
    <main class="page">
      <PageBar title={t("frame.access")} />
      <Tabs models={models} tabs={tabs} label={t("access.parts")} />
      <Part key={current} models={models} />
    </main>
  );
}

// The tabs of a user besides the overview, in one file: the first one that is opened loads all of them.

export { UserBackends } from "./user_backends.tsx";
export { UserFactorsTab } from "./user_factors.tsx";
export { UserProfile } from "./user_profile.tsx";
export { UserTimeline } from "./user_timeline.tsx";
export { UserSessions } from "./user_sessions.tsx";

/** promethean/hub: the HTTP and WebSocket gateway. */
export type { Rule, Verb } from "./auth/acl.js";
export type { AuthOptions, JwtOptions, Secret, TokenDemands, TokenGrant } from "./auth/auth.js";
export { DEFAULT_HUB_LIMITS, type HubLimits } from "./limits.js";
export { type ClientFrame, CloseCode, type ServerFrame } from "./protocol.js";
export { type Hub, type HubOptions, startHub } from "./server.js";

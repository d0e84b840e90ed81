/** Opens the facilitators of the configuration with their credentials. */
import type { Report } from '../store/base/runtime.ts'
import type { RemoteFacilitatorConfig } from './config.ts'
import { cdpAuthorization } from './facilitator/cdp-token.ts'
import { FACILITATOR_TIMEOUT_MS, type Facilitator } from './facilitator/facilitator.ts'
import { openFacilitators, type NamedFacilitator } from './facilitator/facilitators.ts'
import { openRemoteFacilitator, type Authorization } from './facilitator/remote-facilitator.ts'

export function openRemoteFacilitators(
  [first, ...others]: readonly [RemoteFacilitatorConfig, ...RemoteFacilitatorConfig[]],
  report: Report,
): Facilitator {
  // `verify` asks one after the other within the time of one call.
  const verifyTimeoutMs = FACILITATOR_TIMEOUT_MS / (1 + others.length)
  const open = (config: RemoteFacilitatorConfig): NamedFacilitator => ({
    name: config.url,
    client: openRemoteFacilitator({ url: config.url, authorization: authorizationOf(config), verifyTimeoutMs }),
  })
  return openFacilitators([open(first), ...others.map(open)], report)
}

export function authorizationOf({ authorization }: RemoteFacilitatorConfig): Authorization {
  switch (authorization.kind) {
    case 'none':
      return async () => undefined
    case 'fixed':
      return async () => authorization.header
    case 'cdp':
      return (method, url) => cdpAuthorization(authorization.key, method, url)
  }
}

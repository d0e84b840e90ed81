/** Finds variables of the environment that do nothing, which are often misspelled. */
import { VARIABLE_NAMES, type Config } from './config.ts'

interface IgnoredVariable {
  variable: string
  reason: string
}

/** Prefixes that other programs do not use. */
const PREFIXES = /^(?:A2A|ADMIN|ERC8004|FACILITATOR|MCP|RATE_LIMIT|RELAYER|RESPONSE|TRUST_PROXY)_/

export function findIgnored(environment: Record<string, string | undefined>, config: Config): IgnoredVariable[] {
  const { facilitator, admin, mode } = config
  const withoutEffect = new Map<string, string>([
    ...(facilitator.kind === 'remote' ? [] : [['FACILITATOR_AUTHORIZATION', 'FACILITATOR is no URL'] as const]),
    ...(facilitator.kind === 'self' ? [] : [['RELAYER_KEY_FILE', 'FACILITATOR is not self'] as const]),
    ...(admin ? [] : [['ADMIN_HOST', 'ADMIN_PORT is off'] as const]),
    ...(mode === 'testnet'
      ? []
      : (['ERC8004_AGENT_ID', 'ERC8004_OWNER'] as const).map((name) => [name, 'MODE is mainnet'] as const)),
  ])
  return Object.keys(environment)
    .filter((name) => environment[name] !== undefined)
    .flatMap((variable) => {
      const reason = withoutEffect.get(variable)
      if (reason !== undefined) return [{ variable, reason }]
      return PREFIXES.test(variable) && !VARIABLE_NAMES.has(variable)
        ? [{ variable, reason: 'there is no such variable' }]
        : []
    })
    .toSorted((one, other) => (one.variable < other.variable ? -1 : 1))
}

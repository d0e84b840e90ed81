/** Finds variables of the environment that do nothing: misspelled ones, removed ones, and those of another setup. */
import { meantVariable, VARIABLE_NAMES, type Config } from './config.ts'

interface IgnoredVariable {
  variable: string
  reason: string
}

/** Prefixes that other programs do not use. */
const PREFIXES = /^(?:A2A|ADMIN|ERC8004|FACILITATOR|MCP|RATE_LIMIT|RELAYER|RESPONSE|TRUST_PROXY)_/

/** Variables of earlier versions, with what replaces them. */
const REMOVED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ADDRESS_BUDGET: 'the budget of a client address follows from RATE_LIMIT_PER_MINUTE',
    CDP_API_KEY_SECRET_FILE: 'CDP_API_KEY_SECRET takes the path',
    CONTACT_EMAIL: 'the documents name no contact, so publish yours on your own site',
    ERC8004_OWNER: 'the owner is read from the chain, and /agent.json shows it',
    FINAL_CONFIRMATIONS: 'a node without the block tag finalized counts 900 blocks',
    KEYS_DIR: 'the keys are in DATA_DIR/keys, so move those of the former directory there',
    MCP_ENABLED: 'MCP is always on, and a proxy can refuse /mcp',
  }),
)

export function findIgnored(environment: Record<string, string | undefined>, config: Config): IgnoredVariable[] {
  const { facilitator, admin, mode } = config
  const withoutEffect = new Map<string, string>([
    ...(facilitator.kind === 'remote' ? [] : [['FACILITATOR_AUTHORIZATION', 'FACILITATOR is no URL'] as const]),
    ...(facilitator.kind === 'self' ? [] : [['RELAYER_KEY_FILE', 'FACILITATOR is not self'] as const]),
    ...(admin ? [] : [['ADMIN_HOST', 'ADMIN_PORT is off'] as const]),
    ...(mode === 'testnet' ? [] : [['ERC8004_AGENT_ID', 'MODE is mainnet'] as const]),
    ...REMOVED,
  ])
  return Object.keys(environment)
    .filter((name) => environment[name] !== undefined)
    .flatMap((variable) => {
      const reason = withoutEffect.get(variable)
      if (reason !== undefined) return [{ variable, reason }]
      if (VARIABLE_NAMES.has(variable)) return []
      const meant = meantVariable(variable)
      if (meant !== undefined) return [{ variable, reason: `the name is ${meant}` }]
      return PREFIXES.test(variable) ? [{ variable, reason: 'there is no such variable' }] : []
    })
    .toSorted((one, other) => (one.variable < other.variable ? -1 : 1))
}

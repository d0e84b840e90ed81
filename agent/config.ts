/** The configuration: the environment, read once and checked (decisions 10). Without any of it the sandbox runs. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { isLoopback, isUrl, mayFetch } from '../store/import/location.ts'
import { CRO_COMPANIES_LOCATION } from '../store/source.ts'
import { isReceiver } from './payments/receiver.ts'

/** Spec 8. */
const RATE_LIMIT_PER_MINUTE = 120
const PORT_DEFAULT = 4021
/** Below this, a buyer could not rely on fetching again what he has paid for (decisions 5). */
const RETENTION_DAYS_MIN = 30
/** RFC 5321: a path has 256 octets, two of them its angle brackets. */
const EMAIL_CHARACTERS_MAX = 254
const EMAIL_RULE = `must be an e-mail address of at most ${EMAIL_CHARACTERS_MAX} ASCII characters`
const AGENT_ID_RULE = `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`

/** A wrong value. The message is one line that names the variable and the rule; the value itself is not repeated. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const port = z
  .string()
  .regex(/^[0-9]{1,5}$/, { error: 'must be a port number from 0 to 65535', abort: true })
  .transform(Number)
  .refine((value) => value <= 65_535, 'must be a port number from 0 to 65535')

const positive = z
  .string()
  .regex(/^[1-9][0-9]{0,8}$/, 'must be a whole number above zero')
  .transform(Number)

const url = z.string().refine((value) => URL.canParse(value), { error: 'must be a URL', abort: true })

const baseUrl = url.refine((value) => {
  const { protocol, pathname, search, hash } = new URL(value)
  return ['http:', 'https:'].includes(protocol) && pathname === '/' && !search && !hash && !value.endsWith('/')
}, 'must be http:// or https:// with a host and nothing after it')

const safeUrl = url.refine(
  (value) => mayFetch(new URL(value)),
  'must be an https URL without a password, or an http URL on a loopback address',
)

const facilitatorUrl = safeUrl
  .refine((value) => !/[?#]/.test(value), 'must be a URL without a query')
  .transform((value) => value.replace(/\/+$/, ''))

const facilitator = z.union([z.literal('sandbox'), z.literal('self'), facilitatorUrl], {
  error: 'must be sandbox, self, an https URL without password and query, or such an http URL on a loopback address',
})

const retentionDays = z
  .string()
  .regex(/^[1-9][0-9]{0,4}$/, { error: 'must be a whole number of days, 30 or more', abort: true })
  .transform(Number)
  .refine((value) => value >= RETENTION_DAYS_MIN, 'must be a whole number of days, 30 or more')

const dataset = z
  .string()
  .min(1, 'must not be empty')
  .refine(
    (value) => !isUrl(value) || (URL.canParse(value) && mayFetch(new URL(value))),
    'must be a path, an https URL without a password, or an http URL on a loopback address',
  )
  .transform((value) => (isUrl(value) ? value : resolve(value)))

const schema = z.object({
  MODE: z.enum(['testnet', 'mainnet'], { error: 'must be testnet or mainnet' }).default('testnet'),
  FACILITATOR: facilitator.default('sandbox'),
  FACILITATOR_AUTHORIZATION: z
    .string()
    .regex(/^[!-~]([ -~]*[!-~])?$/, 'must be the text of an Authorization header')
    .optional(),
  RELAYER_KEY_FILE: z.string().min(1, 'must not be empty').optional(),
  RPC_URL: safeUrl.optional(),
  PAY_TO: z.string().refine(isReceiver, 'must be an address, lower case or with its checksum, and not zero').optional(),
  HOST: z.string().min(1, 'must not be empty').default('127.0.0.1'),
  PORT: port.default(PORT_DEFAULT),
  BASE_URL: baseUrl.optional(),
  DATA_DIR: z.string().min(1, 'must not be empty').default('./data'),
  DATASET: dataset.optional(),
  RATE_LIMIT_PER_MINUTE: positive.default(RATE_LIMIT_PER_MINUTE),
  A2A_ENABLED: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
  KEYS_DIR: z.string().min(1, 'must not be empty').optional(),
  RESPONSE_RETENTION_DAYS: retentionDays.default(RETENTION_DAYS_MIN),
  // 0 is a number like any other. Those beyond are not exact in JSON.
  ERC8004_AGENT_ID: z
    .string()
    .regex(/^(0|[1-9][0-9]{0,15})$/, { error: AGENT_ID_RULE, abort: true })
    .refine((value) => Number.isSafeInteger(Number(value)), AGENT_ID_RULE)
    .transform(BigInt)
    .optional(),
  ERC8004_OWNER: z
    .string()
    .refine(isReceiver, 'must be an address, lower case or with its checksum, and not zero')
    .optional(),
  CONTACT_EMAIL: z.email({ error: EMAIL_RULE }).max(EMAIL_CHARACTERS_MAX, { error: EMAIL_RULE }).optional(),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], { error: 'must be a pino level' })
    .default('info'),
})

export type Config = ReturnType<typeof readConfig>

export function readConfig(environment: Record<string, string | undefined>) {
  const parsed = schema.safeParse(environment)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new ConfigError(`${String(issue?.path[0] ?? 'configuration')} ${issue?.message ?? 'is not valid'}`)
  }
  const values = parsed.data
  const configured = facilitatorOf(values)
  if (values.ERC8004_OWNER !== undefined && values.ERC8004_AGENT_ID === undefined) {
    throw new ConfigError('ERC8004_OWNER must come with ERC8004_AGENT_ID')
  }
  const dataDirectory = resolve(values.DATA_DIR)
  return {
    mode: values.MODE,
    facilitator: configured,
    rpcUrl: values.RPC_URL,
    payTo: values.PAY_TO,
    host: values.HOST,
    port: values.PORT,
    baseUrl: values.BASE_URL,
    dataDirectory,
    /** A local archive or a URL; the sandbox's sample when absent. */
    dataset: values.DATASET ?? (configured.kind === 'sandbox' ? undefined : CRO_COMPANIES_LOCATION),
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    a2aEnabled: values.A2A_ENABLED === 'true',
    keysDirectory: values.KEYS_DIR === undefined ? resolve(dataDirectory, 'keys') : resolve(values.KEYS_DIR),
    retentionDays: values.RESPONSE_RETENTION_DAYS,
    /** Undefined when none is configured; the sandbox then registers one. */
    erc8004:
      values.ERC8004_AGENT_ID === undefined
        ? undefined
        : { agentId: values.ERC8004_AGENT_ID, owner: values.ERC8004_OWNER },
    /** Whom the documents name for questions; nobody when absent. */
    contactEmail: values.CONTACT_EMAIL,
    logLevel: values.LOG_LEVEL,
  }
}

/** Who settles payments. Outside the sandbox a node and a receiver must be named, because money would be at stake. */
export type ConfiguredFacilitator =
  | { kind: 'sandbox' }
  | { kind: 'self'; relayerKeyFile: string; rpcUrl: string; payTo: string }
  | { kind: 'remote'; url: string; authorization: string | undefined; rpcUrl: string; payTo: string }

function facilitatorOf(values: z.infer<typeof schema>): ConfiguredFacilitator {
  const { MODE: mode, FACILITATOR: chosen, RPC_URL: rpcUrl, PAY_TO: payTo, RELAYER_KEY_FILE: keyFile } = values
  if (chosen === 'sandbox') {
    if (mode === 'mainnet') throw new ConfigError('FACILITATOR must not be sandbox when MODE is mainnet')
    if (rpcUrl !== undefined && !isLocal(rpcUrl)) {
      throw new ConfigError('RPC_URL must be an http URL on a loopback address when FACILITATOR is sandbox')
    }
    return { kind: 'sandbox' }
  }
  if (rpcUrl === undefined) throw new ConfigError('RPC_URL must be set when FACILITATOR is not sandbox')
  if (payTo === undefined) throw new ConfigError('PAY_TO must be set when FACILITATOR is not sandbox')
  if (chosen !== 'self') {
    return { kind: 'remote', url: chosen, authorization: values.FACILITATOR_AUTHORIZATION, rpcUrl, payTo }
  }
  if (keyFile === undefined) throw new ConfigError('RELAYER_KEY_FILE must be set when FACILITATOR is self')
  return { kind: 'self', relayerKeyFile: resolve(keyFile), rpcUrl, payTo }
}

function isLocal(value: string): boolean {
  const { protocol, hostname } = new URL(value)
  return protocol === 'http:' && isLoopback(hostname)
}

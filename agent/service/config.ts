/**
 * The configuration: the environment, read once and checked (contract 14.1). Without configuration the sandbox runs.
 */
import { join, resolve } from 'node:path'
import { isAddress, zeroAddress } from 'viem'
import * as z from 'zod'
import { readPrivateFile } from '../../store/files/private-files.ts'
import { isLoopback, isUrl, mayFetch, toUrlHost } from '../../base/url-policy.ts'
import { CRO_COMPANIES_LOCATION } from '../../store/dataset/source.ts'
import { isSameAddress } from '../payment/accounts.ts'
import { BUDGET_UNITS_MIN } from '../sale/limits/address-budget.ts'
import { CDP_HOST, cdpAuthorization, parseCdpKey } from '../settlement/facilitator/cdp-token.ts'
import { DEPLOYMENTS } from '../payment/terms.ts'

/** Contract 6.2.1. */
const RATE_LIMIT_PER_MINUTE = 120
const PORT_DEFAULT = 4021
/** The usual port of OpenTelemetry's exporter for Prometheus. */
const ADMIN_PORT_DEFAULT = 9464
/** Contract 5.6.4: buyers can fetch a paid answer again for at least this time. */
const RETENTION_DAYS_MIN = 30
const RETENTION_DAYS_MAX = 99_999
/** More than one database can sell. */
const RATE_LIMIT_MAX = 100_000
/** More than one response log serves. */
const PROCESSES_MAX = 1_000
/** The budget of a client address as a multiple of RATE_LIMIT_PER_MINUTE (contract 6.2.2). */
const ADDRESS_BUDGET_SHARE = 2.5
/** More than a PEM file of a key on P-256. */
const SECRET_BYTES_MAX = 4_096

/** Invalid variables. The message is one line with each name and its rule, and never repeats a value. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const notEmpty = z.string().min(1, 'must not be empty')

const address = z
  .string()
  .refine(
    (text) => isAddress(text) && text !== zeroAddress,
    'must be an address in lower case or with its checksum, and not zero',
  )

function wholeNumber(min: number, max: number, rule = `must be a whole number from ${min} to ${max}`) {
  const isValid = (value: string) =>
    /^(0|[1-9][0-9]{0,15})$/.test(value) && Number(value) >= min && Number(value) <= max
  return z.string().refine(isValid, rule).transform(Number)
}

const port = wholeNumber(0, 65_535, 'must be a port number from 0 to 65535')

const adminPort = z.union([z.literal('off'), port], { error: 'must be a port number from 0 to 65535, or off' })

const url = z.string().refine((value) => URL.canParse(value), { error: 'must be a URL', abort: true })

const baseUrl = url.refine((value) => {
  const { protocol, pathname, search, hash } = new URL(value)
  const isOrigin = ['http:', 'https:'].includes(protocol) && pathname === '/' && !search && !hash
  // Signatures of the agent card need ASCII.
  return isOrigin && !value.endsWith('/') && /^[!-~]+$/.test(value)
}, 'must be http:// or https:// and a host in ASCII, with nothing after the host')

const safeUrl = url.refine(
  (value) => mayFetch(new URL(value)),
  'must be an https URL without a password, or an http URL on a loopback address',
)

const list = notEmpty.transform((value) => value.split(',').map((each) => each.trim()))

const nodeUrls = list.pipe(z.tuple([safeUrl], safeUrl))

const facilitatorUrl = safeUrl
  .refine((value) => !/[?#]/.test(value), 'must be a URL without a query')
  .transform((value) => value.replace(/\/+$/, ''))

const facilitatorUrls = list
  .pipe(z.tuple([facilitatorUrl], facilitatorUrl))
  .refine((urls) => new Set(urls).size === urls.length)

const facilitatorSchema = z.union([z.enum(['sandbox', 'self']), facilitatorUrls], {
  error:
    'must be sandbox, self, or different https URLs without password and query, separated by commas; http only on a loopback address',
})

const dataset = notEmpty
  .refine(
    (value) => !isUrl(value) || (URL.canParse(value) && mayFetch(new URL(value))),
    'must be a path, an https URL without a password, or an http URL on a loopback address',
  )
  .transform((value) => (isUrl(value) ? value : resolve(value)))

const flag = z.enum(['true', 'false'], { error: 'must be true or false' })

/** As libpq writes them. The driver connects to one. */
const SEVERAL_HOSTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?[^/?#@]*(?:,|%2C)[^/?#@]*(?:[/?#]|$)|[?&]host=[^&#]*(?:,|%2C)/i

/** Why a text is no URL of a response log. Never repeats it, because it can hold a password. */
export function faultOfLogUrl(text: string): string | undefined {
  if (SEVERAL_HOSTS.test(text))
    return 'must have one host, whose name leads to the primary, such as that of a pgbouncer, an HAProxy or a managed service'
  return /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text) ? undefined : 'must be a postgres:// URL'
}

const responseLog = z.string().refine((value) => faultOfLogUrl(value) === undefined, {
  error: ({ input }) => faultOfLogUrl(String(input)),
})

const schema = z.object({
  MODE: z.enum(['testnet', 'mainnet'], { error: 'must be testnet or mainnet' }).default('testnet'),
  FACILITATOR: facilitatorSchema.default('sandbox'),
  FACILITATOR_AUTHORIZATION: z
    .string()
    .regex(/^[!-~]([ -~]*[!-~])?$/, 'must be the value of an Authorization header')
    .optional(),
  CDP_API_KEY_ID: z
    .string()
    .regex(/^[!-~]{1,200}$/, 'must be the id of an API key')
    .optional(),
  CDP_API_KEY_SECRET: notEmpty.optional(),
  RELAYER_KEY_FILE: notEmpty.optional(),
  RPC_URL: nodeUrls.optional(),
  PAY_TO: address.optional(),
  HOST: notEmpty.default('127.0.0.1'),
  PORT: port.default(PORT_DEFAULT),
  ADMIN_HOST: notEmpty.default('127.0.0.1'),
  ADMIN_PORT: adminPort.optional(),
  BASE_URL: baseUrl.optional(),
  DATA_DIR: notEmpty.default('./data'),
  DATASET: dataset.optional(),
  TRUST_PROXY: wholeNumber(0, 9, 'must be the number of trusted proxies, 0 to 9').default(0),
  RATE_LIMIT_PER_MINUTE: wholeNumber(1, RATE_LIMIT_MAX).default(RATE_LIMIT_PER_MINUTE),
  PROCESSES: wholeNumber(1, PROCESSES_MAX).default(1),
  A2A_ENABLED: flag.default('true'),
  RESPONSE_LOG: responseLog.optional(),
  RESPONSE_RETENTION_DAYS: wholeNumber(RETENTION_DAYS_MIN, RETENTION_DAYS_MAX).default(RETENTION_DAYS_MIN),
  // 0 is a valid agent id. Larger numbers than the maximum are not exact in JSON.
  ERC8004_AGENT_ID: wholeNumber(0, Number.MAX_SAFE_INTEGER).transform(BigInt).optional(),
  /** Shown on every page. */
  OPERATOR_NAME: z
    .string()
    .regex(/^\P{Cc}{1,80}$/u, 'must have 1 to 80 characters')
    .optional(),
  OPERATOR_URL: url
    .refine((value) => new URL(value).protocol === 'https:' && value.length <= 300, 'must be an https URL')
    .optional(),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be a pino level: fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
})

export type Config = ReturnType<typeof readConfig>

/** What must be set and is not. */
function findMissing(environment: Record<string, string | undefined>): string[] {
  const { FACILITATOR: chosen = 'sandbox' } = environment
  if (chosen === 'sandbox') return []
  const needed = [
    ['RPC_URL', 'not sandbox'],
    ['PAY_TO', 'not sandbox'],
    ...(chosen === 'self' ? [['RELAYER_KEY_FILE', 'self']] : []),
  ]
  return needed.flatMap(([name = '', kind]) =>
    environment[name] === undefined ? [`${name} must be set when FACILITATOR is ${kind}`] : [],
  )
}

export function readConfig(environment: Record<string, string | undefined>) {
  const parsed = schema.safeParse(environment)
  const issues = parsed.error?.issues ?? []
  const faults = [
    ...issues.map(({ path, message }) => `${String(path[0] ?? 'configuration')} ${message}`),
    ...findMissing(environment),
  ]
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults.join('; '))
  const values = parsed.data
  const facilitator = readFacilitator(values)
  // Buyers and the agent card would otherwise get a URL that they cannot reach.
  if (facilitator.kind !== 'sandbox' && values.BASE_URL === undefined && !isLoopback(toUrlHost(values.HOST))) {
    throw new ConfigError('BASE_URL must be set when HOST is not a loopback address and FACILITATOR is not sandbox')
  }
  const { OPERATOR_NAME: operatorName, OPERATOR_URL: operatorUrl } = values
  if ((operatorName === undefined) !== (operatorUrl === undefined))
    throw new ConfigError('OPERATOR_NAME and OPERATOR_URL must be set together')
  const dataDirectory = resolve(values.DATA_DIR)
  return {
    mode: values.MODE,
    facilitator,
    rpcUrls: values.RPC_URL ?? [],
    payTo: values.PAY_TO,
    host: values.HOST,
    port: values.PORT,
    admin: readAdmin(values),
    baseUrl: values.BASE_URL,
    dataDirectory,
    /** A local archive or a URL. Undefined for the sample of the sandbox. */
    dataset: values.DATASET ?? (facilitator.kind === 'sandbox' ? undefined : CRO_COMPANIES_LOCATION),
    /** The number of reverse proxies that requests pass, each of which appends to `X-Forwarded-For`. */
    trustedProxies: values.TRUST_PROXY,
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    /** The part of this process. Processes do not share the counter. */
    salesPerMinute: Math.max(1, Math.floor(values.RATE_LIMIT_PER_MINUTE / values.PROCESSES)),
    /**
     * Units a minute of each client address (contract 6.2.2): half of the limit of sales in payments of five units, or
     * more.
     */
    addressBudget: Math.max(BUDGET_UNITS_MIN, Math.ceil(ADDRESS_BUDGET_SHARE * values.RATE_LIMIT_PER_MINUTE)),
    a2aEnabled: values.A2A_ENABLED === 'true',
    keysDirectory: join(dataDirectory, 'keys'),
    /** A PostgreSQL database that several machines share. Undefined for LMDB in the data directory. */
    responseLog: values.RESPONSE_LOG,
    retentionDays: values.RESPONSE_RETENTION_DAYS,
    /** The id in the ERC-8004 identity registry. If it is undefined, the sandbox registers an agent. */
    agentId: values.ERC8004_AGENT_ID,
    operator: operatorName === undefined ? undefined : { name: operatorName, url: operatorUrl ?? '' },
    logLevel: values.LOG_LEVEL,
  }
}

/** The address of metrics and probes, or undefined for none. Mainnet has no default (contract 14.12). */
function readAdmin(values: z.infer<typeof schema>) {
  const { MODE: mode, HOST, PORT, ADMIN_HOST: host, ADMIN_PORT: given } = values
  if (given === 'off' || (given === undefined && mode === 'mainnet')) return undefined
  if (given !== undefined && given !== 0 && given === PORT && host === HOST)
    throw new ConfigError('ADMIN_PORT must not be PORT')
  return { host, port: given ?? ADMIN_PORT_DEFAULT, isDefaultPort: given === undefined }
}

/** The facilitator that settles payments. Outside the sandbox RPC_URL and PAY_TO have no default (contract 14.2). */
function readFacilitator(values: z.infer<typeof schema>) {
  const { MODE: mode, FACILITATOR: chosen, RPC_URL: rpcUrls, PAY_TO: payTo, RELAYER_KEY_FILE: keyFile } = values
  if (chosen === 'sandbox') {
    if (mode === 'mainnet') throw new ConfigError('FACILITATOR must not be sandbox when MODE is mainnet')
    // An http URL is on a loopback address: `safeUrl` refuses others.
    if (rpcUrls !== undefined && (rpcUrls.length > 1 || !rpcUrls.every((each) => new URL(each).protocol === 'http:'))) {
      throw new ConfigError('RPC_URL must be one http URL on a loopback address when FACILITATOR is sandbox')
    }
    return { kind: 'sandbox' as const }
  }
  if (rpcUrls === undefined || payTo === undefined) throw new ConfigError('RPC_URL and PAY_TO must be set')
  // USDC refuses transfers to its own contract.
  if (isSameAddress(payTo, DEPLOYMENTS[mode].asset)) {
    throw new ConfigError('PAY_TO must be an account, not the token contract')
  }
  // The registry and the relayer use the first node.
  const shared = { rpcUrls, payTo }
  if (chosen !== 'self') return { kind: 'remote' as const, facilitators: readRemotes(chosen, values), ...shared }
  if (keyFile === undefined) throw new ConfigError('RELAYER_KEY_FILE must be set')
  return { kind: 'self' as const, relayerKeyFile: resolve(keyFile), ...shared }
}

/** In the order in which they are asked. Credentials go only to the facilitator for which they are meant. */
function readRemotes(urls: readonly string[], values: z.infer<typeof schema>) {
  const { FACILITATOR_AUTHORIZATION: header } = values
  const key = readCdpKey(values)
  const isOnly = urls.length === 1
  const isCdp = (each: string) => key !== undefined && (isOnly || new URL(each).host === CDP_HOST)
  if (key !== undefined && !urls.some(isCdp))
    throw new ConfigError(`FACILITATOR must have a URL of ${CDP_HOST} when CDP_API_KEY_ID is set`)
  if (header !== undefined && (!isOnly || key !== undefined))
    throw new ConfigError('FACILITATOR_AUTHORIZATION must not be set with CDP_API_KEY_ID or with several facilitators')
  return urls.map((each) => ({
    url: each,
    authorization: async (method: 'GET' | 'POST', target: string) =>
      key && isCdp(each) ? cdpAuthorization(key, method, target) : header,
  }))
}

function readCdpKey(values: z.infer<typeof schema>): ReturnType<typeof parseCdpKey> {
  const { CDP_API_KEY_ID: id, CDP_API_KEY_SECRET: given } = values
  if (id === undefined && given === undefined) return undefined
  if (id === undefined || given === undefined)
    throw new ConfigError(
      'CDP_API_KEY_ID must come with CDP_API_KEY_SECRET, its private key or the path of a file with it',
    )
  const key = parseCdpKey({ id, secret: given }) ?? parseCdpKey({ id, secret: readSecretFile(given) })
  if (key) return key
  throw new ConfigError(
    'CDP_API_KEY_SECRET must be a private key (PEM on P-256, or Base64 of 64 bytes) or a file with one',
  )
}

/** Empty if there is no such file. */
function readSecretFile(path: string): string {
  const file = readPrivateFile(path, SECRET_BYTES_MAX)
  if (file.kind === 'open') throw new ConfigError('CDP_API_KEY_SECRET must be readable by its owner only: chmod 600')
  return file.kind === 'read' ? file.text : ''
}

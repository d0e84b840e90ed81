/** The action of the command `verify`: one line for each check of a purchase, or of an answer and its receipt. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import type { CommandResult } from '../../agent/command-line/context.ts'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import type { ReceiptClaims } from '../../agent/payment/receipt/claims.ts'
import {
  readSettlementResponse,
  receiptOf,
  unwrapBody,
  type SettlementResponse,
} from '../../agent/payment/receipt/read.ts'
import { verifyReceipt, type ReceiptCheck, type VerifiedReceipt } from '../../agent/payment/receipt/verify.ts'
import { decodeUtf8, parseJson } from '../../base/read-body.ts'
import { ANSWER_BYTES_MAX, type Fetch } from '../../base/bounded-fetch.ts'
import { parseStrictJson } from '../../base/strict-json.ts'
import { readFileUpTo } from '../../store/files/bounded-read.ts'
import { fileEntry } from './folder-storage.ts'
import { isOtherEntry, parsePurchase, readPurchase } from './purchase-file.ts'
import {
  checkResponse,
  describe,
  fetchKeySet,
  keySetSchema,
  keySetUrl,
  purchasedReceipt,
  verifyPurchase,
} from './verify-purchase.ts'

interface VerifyOptions {
  /** A purchase or an answer in JSON. */
  file: string
  /** For an answer without a receipt in its file. */
  receiptFile: string | undefined
  /** The base URL that the receipt must name as its issuer. */
  issuer: string | undefined
  /** The file of a saved key set. By default it is fetched from the service. */
  keySetFile: string | undefined
  /** A check that needs the chain. It runs only if the signature is valid. */
  checkTransfer: ((claims: ReceiptClaims) => Promise<TransferCheck>) | undefined
  fetch: Fetch
  print: (line: string) => void
  /** With it, the result is one document. */
  printJson: ((value: unknown) => void) | undefined
}

/** `unchecked`: no node has answered, which says nothing about the receipt. */
export type TransferCheck = ({ kind: 'checked' } & ReceiptCheck) | { kind: 'unchecked'; detail: string }

/** The exit status of a valid receipt of which something could not be checked (contract 5.9.6). */
const EXIT_UNCHECKED = 7

/** A purchase file holds the answer as escaped text, with the request and the quote. */
const FILE_BYTES_MAX = 3 * ANSWER_BYTES_MAX

/** A receipt, and the settlement response around it if the file has one. */
interface FoundReceipt {
  receipt: string
  response: SettlementResponse | undefined
}

/** What is verified, and the URL of the key set that must have signed its receipt. */
interface Subject {
  keySetUrl: string | undefined
  verify: (keySet: unknown) => Promise<VerifiedReceipt>
}

export async function verifyFile(options: VerifyOptions): Promise<CommandResult> {
  const { print } = options
  const subject = await readSubject(options)
  const keySet = await readKeySet(options, subject)
  const verified = await subject.verify(keySet)
  const checks = [...verified.checks]
  if (verified.claims && options.issuer !== undefined) checks.push(checkIssuer(verified.claims, options.issuer))
  const transfer = verified.claims && (await options.checkTransfer?.(verified.claims))
  if (transfer?.kind === 'checked') checks.push(transfer)
  const isValid = checks.every(({ passed }) => passed)
  const issuer = verified.claims?.iss
  const status = isValid && transfer?.kind === 'unchecked' ? EXIT_UNCHECKED : isValid
  if (options.printJson) {
    const known = checks.map(({ name, passed, detail }) => ({ name, result: passed ? 'ok' : 'failed', detail }))
    const unknown =
      transfer?.kind === 'unchecked' ? [{ name: 'transfer', result: 'unchecked', detail: transfer.detail }] : []
    options.printJson({ valid: isValid, issuer: issuer ?? null, checks: [...known, ...unknown] })
    return status
  }
  const show = (name: string, result: string, detail: string) => print(`${name.padEnd(10)}${result} ${detail}`)
  for (const { name, passed, detail } of checks) show(name, passed ? 'ok     ' : 'FAILED ', detail)
  if (transfer?.kind === 'unchecked') show('transfer', 'NOT CHECKED:', transfer.detail)
  print(isValid ? `The receipt of ${issuer} is valid for this answer.` : 'THE RECEIPT IS NOT VALID for this answer.')
  return status
}

function checkIssuer({ iss }: ReceiptClaims, expected: string): ReceiptCheck {
  const passed = iss === expected
  return { name: 'issuer', passed, detail: passed ? iss : `the receipt is of ${iss}` }
}

async function readSubject({ file, receiptFile }: VerifyOptions): Promise<Subject> {
  if (isOtherEntry(basename(file)))
    throw new Error(`${file} is no purchase. Take a file that "client purchases FOLDER" lists`)
  const json = parseText(await readTextFile(file))
  if (json.kind === 'duplicate_name') throw new Error(`${file} repeats a member name`)
  if (json.kind === 'invalid') throw new Error(`${file} is not JSON`)
  if (typeof json.value !== 'object' || json.value === null || Array.isArray(json.value))
    throw new Error(`${file} is not an answer: it is not a JSON object`)
  const purchase = parsePurchase(json.value) && (await readPurchase(fileEntry(file)))
  if (!purchase) return readAnswerAlone(file, json.value, receiptFile)
  if (receiptFile !== undefined) throw new Error('--receipt is for an answer; a purchase file contains its receipt')
  if (purchasedReceipt(purchase) === undefined) throw new Error(`${file} has no paid answer with a receipt`)
  return { keySetUrl: keySetUrl(purchase), verify: (keySet) => verifyPurchase(purchase, keySet) }
}

/** An answer, whose receipt is in the same file, unless it is a body of REST, or in another one. */
async function readAnswerAlone(file: string, value: unknown, receiptFile: string | undefined): Promise<Subject> {
  const { answer, response } = unwrapBody(value)
  if (answer === undefined) throw new Error(`${file} is not an answer: its text differs from its structuredContent`)
  const enclosed = response && { receipt: receiptOf(response), response }
  const receipt = receiptFile === undefined ? enclosed : await readReceiptFile(receiptFile)
  if (!receipt) throw new Error(`${file} is neither a purchase nor an answer with its receipt: add --receipt`)
  // The issuer that the receipt names could be the service of a forger.
  return { keySetUrl: undefined, verify: (keySet) => verifyAnswer(answer, receipt, keySet) }
}

/** Without the purchase, the amount and the payer can only be shown. */
async function verifyAnswer(answer: unknown, { receipt, response }: FoundReceipt, keySet: unknown) {
  const verified = await verifyReceipt({ receipt, answer, keySet })
  const { claims } = verified
  if (!claims) return verified
  const detail = `${describe(claims.payment)} in transaction ${claims.payment.transaction}`
  const shown = { name: 'payment', passed: true, detail }
  return { ...verified, checks: [...verified.checks, shown, ...(response ? [checkResponse(response, claims)] : [])] }
}

async function readKeySet({ keySetFile, issuer, fetch }: VerifyOptions, subject: Subject): Promise<unknown> {
  if (keySetFile !== undefined) {
    const keySet = keySetSchema.safeParse(parseJson(await readTextFile(keySetFile))).data
    if (!keySet) throw new Error(`${keySetFile} is not a JWK Set`)
    return keySet
  }
  const url = issuer === undefined ? subject.keySetUrl : `${issuer}${FREE_PATHS.jwks}`
  if (url === undefined) throw new Error('The key set of the issuer is not known: add --issuer or --jwks')
  return fetchKeySet(fetch, url)
}

/** Reads a receipt: a JWT, or the value of a `PAYMENT-RESPONSE` header. */
async function readReceiptFile(file: string): Promise<FoundReceipt> {
  const text = (await readTextFile(file)).trim()
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return { receipt: text, response: undefined }
  const response = readSettlementResponse(text)
  if (response) return { receipt: receiptOf(response), response }
  throw new Error(`${file} has no receipt: it is neither the value of a PAYMENT-RESPONSE header with one, nor a JWT`)
}

/** @throws an error if the file is larger than any of these files, or not UTF-8 without a byte order mark */
async function readTextFile(file: string): Promise<string> {
  // Without `O_NONBLOCK`, opening a pipe waits for a writer.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a regular file`)
  const bytes = await readFileUpTo(handle, FILE_BYTES_MAX)
  if (!bytes) throw new Error(`${file} is larger than ${FILE_BYTES_MAX} bytes`)
  const text = decodeUtf8(bytes)
  if (text === undefined) throw new Error(`${file} is not UTF-8 text`)
  if (text.startsWith('\uFEFF')) throw new Error(`${file} begins with a byte order mark: save it as UTF-8 without one`)
  return text
}

const parseText = (text: string) => parseStrictJson(new TextEncoder().encode(text))

/** The action of the command `verify`: one line for each check of a purchase, or of an answer and its receipt. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { FREE_PATHS } from '../operation/paths.ts'
import type { ReceiptClaims } from '../receipt/claims.ts'
import { readAnswer, readSettlementResponse, receiptOf, statedIssuer } from '../receipt/read.ts'
import { verifyReceipt, type ReceiptCheck, type VerifiedReceipt } from '../receipt/verify.ts'
import { parseJson } from '../rpc/read-body.ts'
import { fetchDocument, type Fetch } from './bounded-fetch.ts'
import { parsePurchase, type Purchase } from './purchase-file.ts'
import { describe, keySetUrl, purchasedReceipt, verifyPurchase } from './verify-purchase.ts'

/** A check that needs more than the files. It runs only after the signature is valid. */
export type FurtherCheck = (claims: ReceiptClaims, answer: unknown) => Promise<ReceiptCheck[]>

interface VerifyOptions {
  /** A purchase, or the body of an answer. */
  file: string
  /** With the body of an answer: the file of a receipt or of a `PAYMENT-RESPONSE` header. */
  receiptFile: string | undefined
  /** The file of a saved key set. By default it is fetched from the service. */
  keySetFile: string | undefined
  further: readonly FurtherCheck[]
  fetch: Fetch
  print: (line: string) => void
}

/** What is verified, and where its key set is. */
interface Subject {
  keySetUrl: string | undefined
  answer: unknown
  verify: (keySet: unknown) => Promise<VerifiedReceipt>
}

/** Returns whether all checks passed. */
export async function verifyFile(options: VerifyOptions): Promise<boolean> {
  const { print, further } = options
  const subject = await readSubject(options)
  const keySet = await readKeySet(options, subject)
  const verified = await subject.verify(keySet)
  const checks = [...verified.checks]
  if (verified.claims) for (const run of further) checks.push(...(await run(verified.claims, subject.answer)))
  for (const { name, passed, detail } of checks) print(`${name.padEnd(10)}${passed ? 'ok     ' : 'FAILED '} ${detail}`)
  const isValid = checks.every(({ passed }) => passed)
  print(isValid ? 'The receipt is valid for this answer.' : 'THE RECEIPT IS NOT VALID for this answer.')
  return isValid
}

async function readSubject({ file, receiptFile }: VerifyOptions): Promise<Subject> {
  const text = await readFile(file, 'utf8')
  const purchase = parsePurchase(text)
  if (purchase) {
    if (receiptFile !== undefined) throw new Error('--receipt is for an answer; a purchase has its receipt')
    return ofPurchase(file, purchase)
  }
  if (receiptFile === undefined) throw new Error(`${file} is not a purchase; to verify an answer, add --receipt`)
  return ofAnswer(text, (await readFile(receiptFile, 'utf8')).trim())
}

function ofPurchase(file: string, purchase: Purchase): Subject {
  if (purchasedReceipt(purchase) === undefined) throw new Error(`${file} has no paid answer with a receipt`)
  const answer = readAnswer(purchase.answer?.body ?? '')
  return { keySetUrl: keySetUrl(purchase), answer, verify: (keySet) => verifyPurchase(purchase, keySet) }
}

/** Without the purchase, the amount and the payer can only be shown. */
function ofAnswer(text: string, written: string): Subject {
  const response = readSettlementResponse(written)
  const receipt = response ? receiptOf(response) : written
  const issuer = statedIssuer(receipt)
  const answer = readAnswer(text)
  return {
    keySetUrl: issuer && `${issuer}${FREE_PATHS.jwks}`,
    answer,
    async verify(keySet) {
      const { checks, ...verified } = await verifyReceipt({ receipt, answer, keySet })
      if (!verified.claims) return { ...verified, checks }
      const { payment } = verified.claims
      const detail = `${describe(payment)} in transaction ${payment.transaction}`
      return { ...verified, checks: [...checks, { name: 'payment', passed: true, detail }] }
    },
  }
}

async function readKeySet({ keySetFile, fetch }: VerifyOptions, subject: Subject): Promise<unknown> {
  if (keySetFile !== undefined) return parseJson(await readFile(keySetFile, 'utf8'))
  if (subject.keySetUrl === undefined) throw new Error('The receipt names no issuer of this purchase; add --jwks')
  return fetchDocument(fetch, subject.keySetUrl, z.unknown())
}

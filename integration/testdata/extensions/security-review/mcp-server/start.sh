#!/bin/sh
exec bookshelf

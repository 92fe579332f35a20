/* Two private copies of dync in one program: each has state of its own. */
int first_fails(void), first_works(void), second_fails(void), second_works(void);
int main(void)
{
    if (first_fails()) return 1;
    if (second_works()) return 2; /* the other copy's error is not seen here */
    return first_works() ? 0 : 3; /* its own is */
}
